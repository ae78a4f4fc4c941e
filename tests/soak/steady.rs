//! What lives as long as the program does: a container that is driven and one with a thread, whose systems stay while
//! entities, messages, functions and other systems come and go. What it holds may not grow.

use std::sync::Arc;
use std::time::Duration;

use ecs::prelude::*;
use ecs::{BoxError, Container, Storage};

use super::books::{Discards, FIRED, Given, Kept, Lane, Life, Read, STARTS, check};
use super::dice::Dice;
use super::parts::{Part, callback, log, set_destination, until};

const TICK: Duration = Duration::from_secs(1);

struct Bell {
    life: Life,
    struck: u64,
}

impl System for Bell {
    fn initialize(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.life.initialize();
        Ok(())
    }

    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.life.update();
        Ok(())
    }

    fn shutdown(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.life.shutdown();
        Ok(())
    }
}

struct Post {
    life: Life,
    lane: Arc<Lane>,
    read: Read,
}

impl System for Post {
    fn initialize(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.life.initialize();
        Ok(())
    }

    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.life.update();
        while let Some(message) = cx.this.next_message() {
            self.lane.receive(&message, &mut self.read);
        }
        Ok(())
    }

    fn shutdown(&mut self, _: &mut Context<'_>) -> SystemResult {
        self.life.shutdown();
        Ok(())
    }
}

struct Mark;

impl Component for Mark {
    fn type_name() -> &'static str {
        "Mark"
    }

    fn export(&self) -> Value {
        Value::Null
    }

    fn storage() -> Storage {
        Storage::Table
    }
}

pub(crate) struct Steady {
    manager: Manager,
    tower: Container,
    office: Container,
    clock: ManualClock,
    lane: Arc<Lane>,
    passes: u64,
}

impl Steady {
    pub(crate) fn new() -> Result<Self, BoxError> {
        let manager = Manager::new();
        let (tower, office) = (manager.container("tower")?, manager.container("office")?);
        let (clock, lane) = (ManualClock::new(), Arc::new(Lane::new(0)));
        set_destination(&tower);
        set_destination(&office);
        let mut claim = tower.claim()?;
        claim.set_clock(&clock)?;
        let bell = Bell {
            life: Life::new(),
            struck: 0,
        };
        let strike = callback(|bell: &mut Bell| {
            FIRED.add(1);
            bell.struck += 1;
            Ok(())
        });
        claim.add_system(
            bell.named("bell")
                .every_pass()
                .timer_every("hour", TICK, strike),
        )?;
        drop(claim);
        let post = Post {
            life: Life::new(),
            lane: Arc::clone(&lane),
            read: Read::default(),
        };
        office
            .claim()?
            .add_system(post.named("post").every_pass())?;
        STARTS.add(1);
        office.start_with(Duration::from_micros(100))?;
        office.defer_ticket(|_| Ok(())).wait()?;
        let steady = Self {
            manager,
            tower,
            office,
            clock,
            lane,
            passes: 0,
        };
        steady.tower.update()?;
        Ok(steady)
    }

    /// What it keeps from round to round.
    pub(crate) const KEPT: Kept = Kept {
        systems: 2,
        components: 0,
        timers: 1,
        destinations: 2,
    };

    /// The threads it keeps.
    pub(crate) const THREADS: u64 = 1;

    /// Work that leaves everything as it was.
    pub(crate) fn round(&mut self, dice: &mut Dice) -> Result<(), BoxError> {
        for _ in 0..dice.below(20) {
            let submit = |message| self.manager.message_submit(message);
            for _ in 0..dice.below(20) {
                let sent = self.lane.send("office", "post", submit);
                check(sent, "a message to a system that is there is refused");
            }
            self.visit(dice);
            self.clock.advance(TICK)?;
            self.tower.update()?;
            self.passes += 1;
        }
        set_destination(&self.tower);
        log(&self.tower);
        let mut claim = self.tower.claim()?;
        let struck = claim.system("bell").map(|bell: &Bell| bell.struck);
        check(
            struck == Some(self.passes),
            "a timer did not fire once for each time it was due",
        );
        drop(claim);
        until("the last message", || self.lane.unread() == 0);
        Ok(())
    }

    /// Entities come and go within the pass, and so does a system.
    fn visit(&self, dice: &mut Dice) {
        let (mut given, entities) = (Given::to(&self.tower), dice.below(50));
        self.tower.defer(move |cx| {
            given.run();
            for number in 0..entities {
                let entity = cx.world.spawn((Part::<false>::new(number), Mark));
                cx.world.insert(entity, Part::<true>::new(number))?;
                cx.world.remove::<Mark>(entity);
            }
            Ok(())
        });
        let mut given = Given::to(&self.tower);
        self.tower.defer(move |cx| {
            given.run();
            cx.world.clear();
            let bell = Bell {
                life: Life::new(),
                struck: 0,
            };
            cx.add_system(bell.named("guest").every_pass())?;
            cx.remove_system("guest");
            Ok(())
        });
    }

    /// The end; what is left of its accounts goes into the sum.
    pub(crate) fn end(self) {
        self.manager.shutdown();
        drop(self.manager);
        check(self.office.failure().is_none(), "the office failed");
        self.lane.close(Discards::Foreseen);
    }
}

//! Typed systems beside each other: they spawn and change through commands, send and hear events, and a group follows.
//!
//! Where nothing fails the same scene is run twice, with worker threads and without, and has to end the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use ecs::prelude::*;
use ecs::{
    BoxError, Claim, EventWriter, Events, GroupChange, GroupReader, Matches, OwnedContainer,
    UpdateError, Workers, parallel,
};

use super::books::{EVENTS, EVENTS_HEARD, EVENTS_SENT, TYPED, Token, check, fault};
use super::dice::Dice;
use super::parts::{ON_PURPOSE, Part, fail, set_destination};
use super::planted;

const SENDERS: usize = 3;

/// What a sender says, with numbers from 1 on.
struct Said {
    sender: usize,
    number: u64,
    _token: Token,
}

/// An entity's slot, and the numbers of its parts.
type Row = (u32, [Option<u64>; 2]);

type Pair = (Part<false>, Part<true>);

/// What the systems of a scene know of each other.
#[derive(Default)]
struct Plan {
    sent: [AtomicU64; SENDERS],
    /// Nothing is changed, sent or failed any more.
    quiet: AtomicBool,
    fails: bool,
}

impl Plan {
    fn may_fail(&self, dice: &mut Dice, odds: u64) -> SystemResult {
        if self.fails && !self.quiet.load(SeqCst) && dice.one_in(odds) {
            return fail(dice);
        }
        Ok(())
    }

    fn sent(&self) -> [u64; SENDERS] {
        self.sent.each_ref().map(|sent| sent.load(SeqCst))
    }
}

/// What one reader or listener has heard of each sender.
#[derive(Clone, Default)]
struct Heard(Arc<[AtomicU64; SENDERS]>);

impl Heard {
    fn note(&self, said: &Said) {
        EVENTS_HEARD.add(1);
        let last = self.0[said.sender].swap(said.number, SeqCst);
        if said.number != last + 1 {
            fault(format!("event {} is heard after {last}", said.number));
        }
    }

    fn all(&self) -> [u64; SENDERS] {
        self.0.each_ref().map(|heard| heard.load(SeqCst))
    }
}

fn change(
    parts: &mut Matches<'_, (Entity, &Part<false>)>,
    commands: &mut Commands<'_>,
    dice: &mut Dice,
) {
    for (entity, _) in parts.iter() {
        match dice.below(12) {
            0 | 1 => commands.despawn(entity),
            2 => commands.insert(entity, Part::<true>::new(2)),
            3 => commands.remove::<Part<true>>(entity),
            4 => commands.remove::<Part<false>>(entity),
            _ => {}
        }
    }
    for number in 0..dice.below(5) {
        match dice.below(3) {
            0 => _ = commands.spawn(Part::<false>::new(number)),
            1 => _ = commands.spawn((Part::<false>::new(number), Part::<true>::new(number))),
            _ => {
                let entity = commands.spawn_empty();
                commands.insert(entity, Part::<false>::new(number));
                if dice.one_in(4) {
                    commands.despawn(entity);
                }
            }
        }
    }
}

fn add_sender(claim: &mut Claim, plan: &Arc<Plan>, sender: usize, dice: &mut Dice) -> SystemResult {
    let (plan, mut dice, token) = (Arc::clone(plan), dice.fork(), TYPED.token());
    let system = parallel(
        format!("sender {sender}"),
        move |mut parts: Matches<'_, (Entity, &Part<false>)>,
              mut commands: Commands<'_>,
              mut said: EventWriter<'_, Said>| {
            let _ = &token;
            if plan.quiet.load(SeqCst) {
                return Ok(());
            }
            change(&mut parts, &mut commands, &mut dice);
            for _ in 0..dice.below(6) {
                EVENTS_SENT.add(1);
                said.send(Said {
                    sender,
                    number: plan.sent[sender].fetch_add(1, SeqCst) + 1,
                    _token: EVENTS.token(),
                });
            }
            plan.may_fail(&mut dice, 60)
        },
    );
    claim.add_system(system.every_pass())?;
    Ok(())
}

/// Whoever hears: a typed reader, a listener, one that hears in its own place.
fn add_hearers(
    claim: &mut Claim,
    plan: &Arc<Plan>,
    dice: &mut Dice,
) -> Result<[Heard; 3], BoxError> {
    let heard: [Heard; 3] = Default::default();
    let [read, at_once, queued] = heard.clone();
    let (of_plan, mut own_dice, token) = (Arc::clone(plan), dice.fork(), TYPED.token());
    let reader = parallel("reader", move |mut said: Events<'_, Said>| {
        let _ = &token;
        for said in said.read() {
            if !planted("event") {
                read.note(said);
            }
        }
        check(
            said.missed() == 0,
            "a reader that reads in each pass misses events",
        );
        of_plan.may_fail(&mut own_dice, 100)
    });
    claim.add_system(reader.every_pass())?;
    let (of_plan, mut own_dice) = (Arc::clone(plan), dice.fork());
    let listener = system("listener", |_| Ok(())).listen::<Said>(move |_, _, said| {
        at_once.note(said);
        of_plan.may_fail(&mut own_dice, 200)
    });
    claim.add_system(listener)?;
    let (of_plan, mut own_dice) = (Arc::clone(plan), dice.fork());
    let queued = system("queued", |_| Ok(())).listen_queued::<Said>(move |_, _, said| {
        queued.note(said);
        of_plan.may_fail(&mut own_dice, 200)
    });
    claim.add_system(queued.every_pass())?;
    Ok(heard)
}

/// The group's members, as its passages tell them, as it has them, and as a query finds them.
fn check_group(
    claim: &mut Claim,
    group: &mut ecs::Group<Pair>,
    passages: &mut GroupReader,
    inside: &mut i64,
) -> Result<(), BoxError> {
    let world = claim.world();
    while let Some(passage) = passages.next(world)? {
        match passage {
            GroupChange::Entered(_) => *inside += 1,
            GroupChange::Left(_) => *inside -= 1,
        }
    }
    let members = group.len(world)?;
    let found = world.query::<(&Part<false>, &Part<true>)>().count();
    check(
        passages.missed() == 0,
        "a reader that looks after each pass misses passages",
    );
    check(
        i64::try_from(members)? == *inside,
        "a group's passages do not add up to its members",
    );
    check(members == found, "a group has other members than a query");
    Ok(())
}

/// One container's whole life. Gives what its world is in the end.
fn live(workers: usize, passes: u64, fails: bool, mut dice: Dice) -> Result<Vec<Row>, BoxError> {
    let dice = &mut dice;
    let container = OwnedContainer::new("beside")?;
    set_destination(&container);
    let clock = ManualClock::new();
    let mut claim = container.claim()?;
    claim.context().set_clock(&clock)?;
    claim.set_workers(&Workers::new(workers)?);
    claim.context().set_worth_waking(Duration::ZERO);
    let plan = Arc::new(Plan {
        fails,
        ..Plan::default()
    });
    let mut group = claim.world().register_group::<Pair>("pairs")?;
    let mut passages = group.reader(claim.world())?;
    let mut inside = 0;
    add_sender(&mut claim, &plan, 0, dice)?;
    let token = TYPED.token();
    let writer = parallel("writer", move |mut parts: Matches<'_, &mut Part<false>>| {
        let _ = &token;
        parts.for_each(Part::touch);
    });
    claim.add_system(writer.every_pass())?;
    add_sender(&mut claim, &plan, 1, dice)?;
    let heard = add_hearers(&mut claim, &plan, dice)?;
    add_sender(&mut claim, &plan, 2, dice)?;
    for _ in 0..passes {
        clock.advance(Duration::from_millis(20))?;
        passed(claim.update());
        check_group(&mut claim, &mut group, &mut passages, &mut inside)?;
    }
    plan.quiet.store(true, SeqCst);
    for _ in 0..3 {
        clock.advance(Duration::from_millis(20))?;
        passed(claim.update());
    }
    check_group(&mut claim, &mut group, &mut passages, &mut inside)?;
    for heard in heard {
        check(
            heard.all() == plan.sent(),
            "not every event is heard in the end",
        );
    }
    // Not as an export: the handles of no two worlds are alike.
    let everything = claim
        .world()
        .query::<(Entity, Option<&Part<false>>, Option<&Part<true>>)>();
    let number = |value: Value| value.as_u64();
    let end = everything.map(|(entity, part, spark)| {
        let numbers = [
            part.and_then(|part| number(part.export())),
            spark.and_then(|spark| number(spark.export())),
        ];
        (entity.index(), numbers)
    });
    let end = end.collect();
    drop(claim);
    container.stop();
    Ok(end)
}

fn passed(outcome: Result<(), UpdateError>) {
    if let Err(error) = outcome
        && !error.to_string().contains(ON_PURPOSE)
    {
        fault(format!("a pass beside failed: {error}"));
    }
}

pub(crate) fn run(dice: &mut Dice) -> Result<(), BoxError> {
    let passes = dice.below(60);
    let workers = 1 + dice.index(2);
    live(workers, passes, true, dice.fork())?;
    let twin = dice.fork();
    let with = live(workers, passes, false, twin.clone())?;
    let without = live(0, passes + u64::from(planted("twin")), false, twin)?;
    check(with == without, "workers change what a scene ends with");
    Ok(())
}

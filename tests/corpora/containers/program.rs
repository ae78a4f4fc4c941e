//! What is done to a container, as data read from a script: both the library and the model carry it out.

use std::sync::Arc;
use std::time::Duration;

use crate::script::Script;

/// What systems are called; the last one is refused.
pub(crate) const HANDLES: [&str; 6] = ["a", "b", "c", "d", "e", ""];
pub(crate) const TIMER_NAMES: [&str; 3] = ["x", "y", ""];
pub(crate) const POCKETS: usize = 2;

pub(crate) type Handle = &'static str;

/// One step of the application.
#[derive(Debug)]
pub(crate) enum Op {
    /// A pass, after the clocks have moved.
    Tick(Duration),
    UpdateSystem(Handle),
    InitializeSystems,
    /// In the context of a claim: of the one that is held, or of one for this step.
    Claimed(Action),
    /// Without a claim of its own.
    Free(Free),
    Hold,
    Release,
}

/// What container code does; a claim does it too.
#[derive(Debug)]
pub(crate) enum Action {
    Free(Free),
    Add(Arc<Spec>),
    Remove(Handle),
    RemoveThis,
    /// By the key of any system that was ever registered.
    RemoveKey(usize),
    /// Whether such a key still leads anywhere.
    Reach(usize),
    Read(usize),
    Waiting,
    AddTimer(Target, Arc<TimerSpec>),
    ClearTimer(Target, &'static str),
    SetInterval(Target, Duration),
    SetOn(Target, bool),
    SetCondition(Handle, Arc<Vec<Verdict>>),
    SetClock(Option<Target>, ClockName),
    Elapsed,
    Look,
    Claim,
    Log,
}

/// What any thread may do.
#[derive(Debug)]
pub(crate) enum Free {
    Send(Handle),
    /// Keeps the mailbox of a system.
    Pocket(usize, Handle),
    SendPocket(usize),
    Defer(Arc<Behaviour>),
    Ticket(Arc<Behaviour>),
    Stop,
    RequestStop,
    Advance(ClockName, Duration),
    /// Sets the clock that can go back.
    GoBack(Duration),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    This,
    Named(Handle),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClockName {
    /// The library's, which never goes back.
    Manual,
    /// The user's own, which may.
    Wild,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict {
    Runs,
    Waits,
    Panics,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Outcome {
    #[default]
    Fine,
    Error(u8),
    Panic(u8),
}

/// What one call of user code does.
#[derive(Debug, Default)]
pub(crate) struct Behaviour {
    pub(crate) actions: Vec<Action>,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
pub(crate) struct TimerSpec {
    pub(crate) name: &'static str,
    pub(crate) length: Duration,
    pub(crate) repeats: bool,
    pub(crate) takes: Takes,
    pub(crate) drop_panics: bool,
    pub(crate) fires: Vec<Behaviour>,
}

/// Which form of callback a timer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    ItsSystem,
    AnotherSystem,
}

#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) handle: Handle,
    /// None is the default.
    pub(crate) interval: Option<Duration>,
    /// None is the container's.
    pub(crate) clock: Option<ClockName>,
    pub(crate) off: bool,
    pub(crate) condition: Option<Arc<Vec<Verdict>>>,
    pub(crate) timers: Vec<Arc<TimerSpec>>,
    pub(crate) drop_panics: bool,
    pub(crate) initialize: Behaviour,
    pub(crate) updates: Vec<Behaviour>,
    pub(crate) shutdown: Behaviour,
}

/// How deep systems and deferred functions may stand inside the behaviour of others.
const DEEPEST: usize = 3;
const MOST_STEPS: usize = 64;

pub(crate) fn program(bytes: &[u8]) -> Vec<Op> {
    let mut script = Script::new(bytes);
    let mut ops = Vec::new();
    while !script.is_empty() && ops.len() < MOST_STEPS {
        ops.push(op(&mut script));
    }
    ops
}

fn op(script: &mut Script<'_>) -> Op {
    match script.below(24) {
        0..=7 => Op::Tick(step(script)),
        8 => Op::UpdateSystem(handle(script)),
        9 => Op::InitializeSystems,
        10..=15 => Op::Claimed(Action::Add(Arc::new(spec(script, 0)))),
        16..=18 => Op::Claimed(action(script, 0)),
        19..=21 => Op::Free(free(script, 0)),
        22 => Op::Hold,
        _ => Op::Release,
    }
}

fn action(script: &mut Script<'_>, depth: usize) -> Action {
    match script.below(28) {
        0 => Action::Look,
        26 => Action::RemoveKey(script.below(64)),
        27 => Action::Reach(script.below(64)),
        1..=3 => Action::Remove(handle(script)),
        4 => Action::RemoveThis,
        5 => Action::Read(script.below(4)),
        6 => Action::Waiting,
        7 | 8 => Action::AddTimer(target(script), Arc::new(timer(script, depth + 1))),
        9 => Action::ClearTimer(target(script), name(script)),
        10 => Action::SetInterval(target(script), length(script)),
        11 => Action::SetOn(target(script), script.chance(128)),
        12 => Action::SetCondition(handle(script), verdicts(script)),
        13 => {
            let target = script.chance(160).then(|| target(script));
            Action::SetClock(target, clock(script))
        }
        14 => Action::Elapsed,
        15 => Action::Claim,
        16 => Action::Log,
        17..=20 if depth < DEEPEST => Action::Add(Arc::new(spec(script, depth + 1))),
        _ => Action::Free(free(script, depth)),
    }
}

fn free(script: &mut Script<'_>, depth: usize) -> Free {
    match script.below(16) {
        0 => Free::Pocket(script.below(POCKETS), handle(script)),
        1 | 2 => Free::SendPocket(script.below(POCKETS)),
        3 | 4 if depth < DEEPEST => Free::Defer(Arc::new(behaviour(script, depth + 1))),
        5 if depth < DEEPEST => Free::Ticket(Arc::new(behaviour(script, depth + 1))),
        6 => Free::Advance(clock(script), step(script)),
        7 | 10 => Free::GoBack(step(script)),
        8 if script.chance(100) => Free::Stop,
        9 if script.chance(60) => Free::RequestStop,
        _ => Free::Send(handle(script)),
    }
}

fn behaviour(script: &mut Script<'_>, depth: usize) -> Behaviour {
    let head = script.byte();
    let actions = match head % 8 {
        0..=3 => 0,
        4 | 5 => 1,
        6 => 2,
        _ => 4,
    };
    let outcome = match head / 8 {
        28 | 29 => Outcome::Error(head),
        30 | 31 => Outcome::Panic(head),
        _ => Outcome::Fine,
    };
    Behaviour {
        actions: (0..actions).map(|_| action(script, depth)).collect(),
        outcome,
    }
}

fn behaviours(script: &mut Script<'_>, most: usize, depth: usize) -> Vec<Behaviour> {
    (0..=script.below(most))
        .map(|_| behaviour(script, depth))
        .collect()
}

fn spec(script: &mut Script<'_>, depth: usize) -> Spec {
    let handle = handle(script);
    // What makes a system unusual is asked for only where this byte says so.
    let parts = script.byte();
    let has = |bit: u8| parts & bit != 0;
    Spec {
        handle,
        interval: match parts & 3 {
            0 => None,
            1 => Some(length(script)),
            _ => Some(Duration::ZERO),
        },
        clock: has(4).then(|| clock(script)),
        off: has(8) && script.chance(128),
        condition: (has(8) && script.chance(128)).then(|| verdicts(script)),
        timers: if has(16) {
            (0..=script.below(3))
                .map(|_| Arc::new(timer(script, depth + 1)))
                .collect()
        } else {
            Vec::new()
        },
        drop_panics: has(32) && script.chance(100),
        initialize: if has(32) {
            behaviour(script, depth)
        } else {
            Behaviour::default()
        },
        updates: if has(64) {
            behaviours(script, 3, depth)
        } else {
            vec![Behaviour::default()]
        },
        shutdown: if has(128) {
            behaviour(script, depth)
        } else {
            Behaviour::default()
        },
    }
}

fn timer(script: &mut Script<'_>, depth: usize) -> TimerSpec {
    let head = script.byte();
    TimerSpec {
        name: name(script),
        length: length(script),
        repeats: head & 1 != 0,
        takes: match head >> 1 & 7 {
            0..=3 => Takes::ItsSystem,
            7 if head & 16 != 0 => Takes::AnotherSystem,
            _ => Takes::Nothing,
        },
        drop_panics: head >> 5 == 7,
        fires: behaviours(script, 2, depth),
    }
}

fn handle(script: &mut Script<'_>) -> Handle {
    HANDLES[match script.byte() {
        255 => 5,
        byte => usize::from(byte) % 5,
    }]
}

fn name(script: &mut Script<'_>) -> &'static str {
    TIMER_NAMES[script.below(TIMER_NAMES.len())]
}

fn target(script: &mut Script<'_>) -> Target {
    if script.chance(100) {
        Target::Named(handle(script))
    } else {
        Target::This
    }
}

fn clock(script: &mut Script<'_>) -> ClockName {
    if script.chance(110) {
        ClockName::Wild
    } else {
        ClockName::Manual
    }
}

fn verdicts(script: &mut Script<'_>) -> Arc<Vec<Verdict>> {
    let verdicts = (0..=script.below(3)).map(|_| match script.byte() {
        0..=120 => Verdict::Runs,
        121..=230 => Verdict::Waits,
        _ => Verdict::Panics,
    });
    Arc::new(verdicts.collect())
}

const MICROSECOND: Duration = Duration::from_micros(1);

/// The length of an interval or of a timer.
fn length(script: &mut Script<'_>) -> Duration {
    match script.below(16) {
        0..=3 => Duration::ZERO,
        4 => Duration::from_nanos(1),
        5 => Duration::from_nanos(2999),
        6..=8 => Duration::from_millis(10),
        9 => Duration::from_millis(10) + MICROSECOND,
        10 | 11 => Duration::from_micros(33_333),
        12 => Duration::from_hours(2),
        13 => ecs::MAX_INTERVAL,
        14 => ecs::MAX_INTERVAL + MICROSECOND,
        _ => Duration::from_millis(script.byte().into()),
    }
}

/// How far a clock moves.
fn step(script: &mut Script<'_>) -> Duration {
    match script.below(16) {
        0..=3 => Duration::from_millis(10),
        4 => Duration::ZERO,
        5 => MICROSECOND,
        6 => Duration::from_micros(9999),
        7 | 8 => Duration::from_micros(33_333),
        9 => Duration::from_millis(29),
        10 => Duration::from_millis(101),
        11 => Duration::from_hours(2),
        12 => Duration::from_hours(100),
        13 => ecs::MAX_INTERVAL,
        14 => Duration::from_micros(u64::MAX / 3),
        _ => Duration::from_millis(script.byte().into()),
    }
}

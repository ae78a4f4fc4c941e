//! The library carries a program out and writes down what happens.

use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ecs::{
    BoxError, Claim, Clock, Container, Context, Mailbox, ManualClock, Moment, OwnedContainer,
    Register, Registration, StopOutcome, System, SystemError, SystemResult, Timer, UpdateError,
    Value, json,
};

use super::env::{Env, FUEL, Kind, Token, Wild, panic_with, whole};
use super::program::{
    Action, Behaviour, ClockName, Free, HANDLES, Op, Outcome, Spec, Takes, Target, TimerSpec,
    Verdict,
};

fn outcome(outcome: Outcome) -> SystemResult {
    match outcome {
        Outcome::Fine => Ok(()),
        Outcome::Error(number) => Err(format!("planned {number}").into()),
        Outcome::Panic(number) => panic_with(format!("planned {number}")),
    }
}

fn behave(env: &Arc<Env>, cx: &mut Context<'_>, behaviour: &Behaviour) -> SystemResult {
    for action in &behaviour.actions {
        act(env, cx, action);
    }
    outcome(behaviour.outcome)
}

/// Does what its specification says, and writes down that it was called.
struct Probe {
    number: usize,
    spec: Arc<Spec>,
    env: Arc<Env>,
    updates: usize,
    token: Option<Token>,
}

impl Probe {
    fn add(&self, event: impl Display) {
        self.env.add(format!("{} {event}", self.number));
    }
}

impl System for Probe {
    fn initialize(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.add(format_args!("initialize {}", cx.this.handle()));
        behave(&self.env, cx, &self.spec.initialize)
    }

    fn update(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.add(format_args!("update {:?}", cx.this.elapsed()));
        let behaviour = &self.spec.updates[self.updates % self.spec.updates.len()];
        self.updates += 1;
        behave(&self.env, cx, behaviour)
    }

    fn shutdown(&mut self, cx: &mut Context<'_>) -> SystemResult {
        self.add(format_args!("shutdown {}", cx.this.handle()));
        behave(&self.env, cx, &self.spec.shutdown)
    }

    fn export(&self) -> Value {
        json!(self.number)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.add("drop");
        drop(self.token.take());
    }
}

/// No system of the programs.
struct Stranger;

impl System for Stranger {
    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        Ok(())
    }
}

fn registration(env: &Arc<Env>, spec: &Arc<Spec>) -> Registration<Probe> {
    let probe = Probe {
        number: env.number(),
        spec: Arc::clone(spec),
        env: Arc::clone(env),
        updates: 0,
        token: Some(env.token(Kind::System, spec.drop_panics)),
    };
    let mut registration = probe.named(spec.handle);
    if let Some(interval) = spec.interval {
        registration = registration.interval(interval);
    }
    if let Some(clock) = spec.clock {
        registration = registration.clock(env.clock(clock));
    }
    if spec.off {
        registration = registration.switched_off();
    }
    if let Some(verdicts) = &spec.condition {
        registration = registration.run_if(condition(env, verdicts));
    }
    for timer_spec in &spec.timers {
        registration = registration.timer(timer(env, timer_spec));
    }
    registration
}

fn condition(
    env: &Arc<Env>,
    verdicts: &Arc<Vec<Verdict>>,
) -> impl FnMut(&ecs::World) -> bool + Send + 'static {
    let (env, verdicts) = (Arc::clone(env), Arc::clone(verdicts));
    let (token, number) = (env.token(Kind::Condition, false), env.number());
    let mut asked = 0;
    move |_| {
        let _ = &token;
        env.add(format!("condition {number}"));
        asked += 1;
        match verdicts[(asked - 1) % verdicts.len()] {
            Verdict::Runs => true,
            Verdict::Waits => false,
            Verdict::Panics => panic_with("planned".to_owned()),
        }
    }
}

fn timer(env: &Arc<Env>, spec: &Arc<TimerSpec>) -> Timer {
    let (env, spec) = (Arc::clone(env), Arc::clone(spec));
    let token = env.token(Kind::Timer, spec.drop_panics);
    let (number, name, length, takes) = (env.number(), spec.name, spec.length, spec.takes);
    let repeats = spec.repeats;
    let mut fired = 0;
    let mut fire = move |cx: &mut Context<'_>| {
        let _ = &token;
        env.add(format!("timer {number} {:?}", cx.this.elapsed()));
        fired += 1;
        behave(&env, cx, &spec.fires[(fired - 1) % spec.fires.len()])
    };
    match (takes, repeats) {
        (Takes::Nothing, true) => Timer::every(name, length, fire),
        (Takes::Nothing, false) => Timer::once(name, length, fire),
        (Takes::ItsSystem, true) => Timer::every_for::<Probe>(name, length, move |_, cx| fire(cx)),
        (Takes::ItsSystem, false) => Timer::once_for::<Probe>(name, length, move |_, cx| fire(cx)),
        (Takes::AnotherSystem, _) => {
            Timer::every_for::<Stranger>(name, length, move |_, cx| fire(cx))
        }
    }
}

fn deferred<T>(
    env: &Arc<Env>,
    behaviour: &Arc<Behaviour>,
    value: impl FnOnce(usize) -> T + Send + 'static,
) -> impl FnOnce(&mut Context<'_>) -> Result<T, BoxError> + Send + 'static {
    let (env, behaviour) = (Arc::clone(env), Arc::clone(behaviour));
    let (token, number) = (env.token(Kind::Deferred, false), env.number());
    move |cx| {
        let _ = &token;
        env.add(format!("deferred {number} {:?}", cx.this.elapsed()));
        behave(&env, cx, &behaviour)?;
        Ok(value(number))
    }
}

fn said(result: Result<(), SystemError>) -> String {
    let Err(error) = result else {
        return "ok".to_owned();
    };
    let kind = format!("{error:?}");
    kind.split([' ', '{']).next().unwrap_or_default().to_owned()
}

fn act(env: &Arc<Env>, cx: &mut Context<'_>, action: &Action) {
    if !env.has_fuel() {
        return;
    }
    match action {
        Action::Free(free) => free_act(env, &cx.container(), free, true),
        Action::Add(spec) => {
            let added = cx.add_system(registration(env, spec));
            if let Ok(added) = &added {
                assert_eq!(&*added.handle, spec.handle);
                env.keys.lock().unwrap().push(added.key);
            }
            env.add(format!("add {}: {}", spec.handle, said(added.map(drop))));
        }
        Action::Remove(handle) => {
            let removed = cx.remove_system(*handle);
            env.add(format!("remove {handle}: {removed}"));
        }
        Action::RemoveThis => {
            let removed = cx.remove_this();
            env.add(format!("remove this: {removed}"));
        }
        Action::RemoveKey(at) => {
            if let Some(key) = env.key(*at) {
                let removed = cx.remove_system(key);
                env.add(format!("remove key: {removed}"));
            }
        }
        Action::Reach(at) => {
            if let Some(key) = env.key(*at) {
                let reached = cx.system::<Probe>(key).map(|probe| probe.number);
                let known = cx.system_info(key).map(|system| system.key() == key);
                env.add(format!("reached {reached:?}, known {known:?}"));
            }
        }
        Action::Read(most) => {
            let mut read = Vec::new();
            while read.len() < *most
                && let Some(message) = cx.this.next_message()
            {
                read.push(message["number"].as_u64().unwrap());
            }
            env.add(format!("read {read:?}"));
        }
        Action::Waiting => {
            let waiting = cx.this.messages_waiting();
            env.add(format!("waiting {waiting}"));
        }
        Action::Elapsed => {
            let (elapsed, interval) = (cx.this.elapsed(), cx.this.interval());
            env.add(format!("elapsed {elapsed:?} of {interval:?}"));
        }
        Action::Look => look(env, cx),
        Action::Claim => {
            let refused = cx.container().claim().is_err();
            env.add(format!("claim refused: {refused}"));
        }
        Action::Log => cx.log("line"),
        _ => settings(env, cx, action),
    }
}

fn settings(env: &Arc<Env>, cx: &mut Context<'_>, action: &Action) {
    match action {
        Action::AddTimer(target, spec) if !env.wild.is_behind() => {
            let timer = timer(env, spec);
            let added = match target {
                Target::This => cx.this.add_timer(timer),
                Target::Named(handle) => cx.add_timer(*handle, timer),
            };
            env.add(format!("add timer {target:?}: {}", said(added)));
        }
        Action::ClearTimer(Target::This, name) => cx.this.clear_timer(name),
        Action::ClearTimer(Target::Named(handle), name) => cx.clear_timer(*handle, name),
        Action::SetInterval(target, interval) => {
            let set = match target {
                Target::This => cx.this.set_interval(*interval),
                Target::Named(handle) => cx.set_interval(*handle, *interval),
            };
            env.add(format!("set interval {target:?}: {}", said(set)));
        }
        Action::SetOn(Target::This, on) => cx.this.set_on(*on),
        Action::SetOn(Target::Named(handle), on) => {
            let set = cx.set_system_on(*handle, *on);
            env.add(format!("set {handle} {on}: {}", said(set)));
        }
        Action::SetCondition(handle, verdicts) => {
            let set = cx.set_run_condition(*handle, condition(env, verdicts));
            env.add(format!("set condition of {handle}: {}", said(set)));
        }
        Action::SetClock(target, clock) => {
            let clock = env.clock(*clock);
            let set = match target {
                None => cx.set_clock(clock),
                Some(Target::This) => cx.this.set_clock(clock),
                Some(Target::Named(handle)) => cx.set_system_clock(*handle, clock),
            };
            env.add(format!("set clock {target:?}: {}", said(set)));
        }
        _ => {}
    }
}

/// What container code sees of the systems.
fn look(env: &Arc<Env>, cx: &Context<'_>) {
    let listed: Vec<&str> = cx.systems().map(|system| &**system.handle()).collect();
    let reached = HANDLES
        .iter()
        .filter_map(|handle| cx.system::<Probe>(*handle));
    let reached: Vec<usize> = reached.map(|probe| probe.number).collect();
    let export = cx.export();
    env.add(format!(
        "listed {listed:?}, reached {reached:?}, export {}",
        export["Systems"]
    ));
}

fn free_act(env: &Arc<Env>, container: &Container, free: &Free, inside: bool) {
    // From the request of a stop on, what becomes of messages is not promised; at its end it is again.
    let stopping = container.is_stop_requested()
        && (inside || container.state() != ecs::ContainerState::Stopped);
    match free {
        Free::Send(_) | Free::Pocket(..) | Free::SendPocket(_) if stopping => {}
        Free::Send(handle) => {
            let number = env.number();
            let message = json!({ "destination": { "system": handle }, "number": number });
            let sent = container.message_submit(message).is_ok();
            env.add(format!("send {handle}: {sent}"));
        }
        Free::Pocket(at, handle) => {
            let mailbox = container.mailbox(handle);
            env.add(format!("pocket {handle}: {}", mailbox.is_some()));
            env.pockets.lock().unwrap()[*at] = mailbox;
        }
        Free::SendPocket(at) => {
            let Some(mailbox) = env.pockets.lock().unwrap()[*at].clone() else {
                return;
            };
            let message = json!({ "number": env.number() });
            let sent = mailbox.send(message.clone());
            env.add(format!("send to pocket: {}", sent.is_ok()));
            if let Err(error) = sent {
                // spec: MSG-15
                assert_eq!(error.into_message(), Some(message));
            }
        }
        Free::Defer(behaviour) => container.defer(deferred(env, behaviour, drop)),
        Free::Ticket(behaviour) => {
            let ticket = container.defer_ticket(deferred(env, behaviour, |number| number));
            env.tickets.lock().unwrap().push(ticket);
        }
        Free::Stop => {
            let outcome = container.stop();
            env.add(format!("stop: {outcome:?}"));
        }
        Free::RequestStop => container.request_stop(),
        Free::Advance(clock, by) => env.advance(*clock, *by),
        Free::GoBack(by) => {
            let now = env.wild.now().as_micros();
            env.wild.set(now.saturating_sub(whole(*by)));
        }
    }
}

fn updated(result: Result<(), UpdateError>) -> String {
    match result {
        Ok(()) => "ok".to_owned(),
        Err(UpdateError::Failed { failure, .. }) => format!(
            "{} in {}: {}",
            failure.handle(),
            failure.phase(),
            failure.error()
        ),
        Err(other) => other.to_string(),
    }
}

/// Runs a program in a container of its own, and gives the log.
pub(crate) fn run(program: &[Op]) -> Vec<String> {
    let owner = OwnedContainer::new("main").unwrap();
    let env = Arc::new(Env {
        log: Mutex::default(),
        manual: ManualClock::new(),
        wild: Wild::default(),
        fuel: AtomicUsize::new(FUEL),
        numbers: AtomicUsize::new(0),
        alive: Default::default(),
        pockets: Mutex::default(),
        tickets: Mutex::default(),
        keys: Mutex::default(),
    });
    let lines = Arc::downgrade(&env);
    owner.set_logger(move |message, level| {
        if let Some(env) = lines.upgrade() {
            env.add(format!("log {level}: {message}"));
        }
    });
    owner.claim().unwrap().set_clock(&env.manual).unwrap();
    let mut held = None;
    for op in program {
        step(&env, &owner, &mut held, op);
        snapshot(&env, &owner, held.as_mut());
    }
    drop(held);
    end(&env, owner);
    std::mem::take(&mut *env.log.lock().unwrap())
}

fn step(env: &Arc<Env>, container: &Container, held: &mut Option<Claim>, op: &Op) {
    let mut claim = |work: &mut dyn FnMut(&mut Claim)| match held {
        Some(claim) => work(claim),
        None => work(&mut container.claim().unwrap()),
    };
    match op {
        Op::Tick(by) => {
            env.advance(ClockName::Manual, *by);
            env.advance(ClockName::Wild, *by);
            let result = match held {
                Some(claim) => claim.update(),
                None => container.update(),
            };
            env.add(format!("pass: {}", updated(result)));
        }
        Op::UpdateSystem(handle) => claim(&mut |claim| {
            let result = claim.update_system(*handle);
            env.add(format!("update system: {}", updated(result)));
        }),
        Op::InitializeSystems => claim(&mut |claim| {
            let result = claim.initialize_systems();
            env.add(format!("step: {}", updated(result)));
        }),
        Op::Claimed(action) => claim(&mut |claim| act(env, &mut claim.context(), action)),
        Op::Free(free) => free_act(env, container, free, false),
        Op::Hold => {
            let claim = container.claim();
            env.add(format!("claim refused: {}", claim.is_err()));
            if let Ok(claim) = claim {
                *held = Some(claim);
            }
        }
        Op::Release => *held = None,
    }
}

/// Everything that can be told about the systems, and how many user values there are.
fn snapshot(env: &Arc<Env>, container: &Container, held: Option<&mut Claim>) {
    env.add(format!("state {:?}", container.state()));
    // Letting go of a claim carries a stop out that was only requested.
    let stopping =
        container.is_stop_requested() && container.state() != ecs::ContainerState::Stopped;
    let mut for_now = None;
    let claim = match held {
        Some(claim) => claim,
        None if stopping => return,
        None => for_now.insert(container.claim().unwrap()),
    };
    for system in claim.context().systems() {
        env.add(format!(
            "  {} started {} shut {} on {} interval {:?} due {:?} updates {} failures {} timers {:?}",
            system.handle(),
            system.is_started(),
            system.is_shut_down(),
            system.is_on(),
            system.interval(),
            system.next_due().map(Moment::as_micros),
            system.updates(),
            system.failures(),
            system.timers().collect::<Vec<_>>(),
        ));
        assert!(system.type_name().ends_with("Probe"));
    }
    env.add(format!("alive {:?}", alive(env)));
}

fn alive(env: &Env) -> [usize; 4] {
    [0, 1, 2, 3].map(|kind| env.alive[kind].load(Ordering::Relaxed))
}

/// In which order a container that is dropped lets go of its systems is not promised.
pub(super) fn sort_last_drops(log: &mut [String]) {
    let drops = log
        .iter()
        .rev()
        .take_while(|event| event.ends_with(" drop"));
    let first = log.len() - drops.count();
    log[first..].sort();
}

/// The owner goes; a reference stays.
fn end(env: &Arc<Env>, owner: OwnedContainer) {
    let left = owner.clone();
    env.add("end");
    drop(owner);
    sort_last_drops(&mut env.log.lock().unwrap());
    // spec: DEF-08, SHUT-01, TIM-10
    assert_eq!(alive(env), [0; 4], "user values alive at the end");
    left.defer(deferred(env, &Arc::default(), drop));
    // spec: MGR-10
    assert_eq!(
        alive(env),
        [0; 4],
        "a function for a container that is gone"
    );
    assert!(left.claim().is_err() && left.start().is_err() && left.mailbox("a").is_none());
    assert!(
        left.message_submit(json!({ "destination": { "system": "a" } }))
            .is_err()
    );
    assert_eq!(left.stop(), StopOutcome::Complete);
    assert_eq!(left.state(), ecs::ContainerState::Gone);
    let pockets = std::mem::take(&mut *env.pockets.lock().unwrap());
    assert!(pockets.iter().flatten().all(Mailbox::is_closed));
    for ticket in std::mem::take(&mut *env.tickets.lock().unwrap()) {
        let told = match ticket.try_take() {
            Some(Ok(number)) => format!("done {number}"),
            Some(Err(error)) => format!("{error:?}").split(' ').next().unwrap().to_owned(),
            None => "nothing".to_owned(),
        };
        env.add(format!("ticket: {told}"));
    }
}

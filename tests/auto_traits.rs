//! What may go to another thread, what may be shared, what can be copied: by types, for every public type.

use std::mem::needs_drop;

use ecs::prelude::*;
use ecs::*;

struct Health;

impl Component for Health {
    fn type_name() -> &'static str {
        "Health"
    }
    fn export(&self) -> Value {
        Value::Null
    }
}

struct Idle;

impl System for Idle {
    fn update(&mut self, _: &mut Context<'_>) -> SystemResult {
        Ok(())
    }
}

struct Side;

impl ParallelSystem for Side {
    type Params = ();

    fn update(&mut self, (): ()) -> SystemResult {
        Ok(())
    }
}

struct Name;

impl TypeName for Name {
    const NAME: &'static str = "Name";
}

fn send<T: Send>() {}
fn send_sync<T: Send + Sync>() {}
fn error<T: std::error::Error + Send + Sync + 'static>() {}

/// For what any thread may do: a reference to give away.
fn shared<T: Send + Sync + Clone + 'static>() {}

/// Does not compile for a type that has the trait: then there are two implementations to choose from.
macro_rules! is_not {
    ($type:ty: $($bound:tt)+) => {
        const _: fn() = || {
            trait Either<Which> {
                fn either() {}
            }
            impl<T: ?Sized> Either<()> for T {}
            impl<T: ?Sized + $($bound)+> Either<u8> for T {}
            <$type as Either<_>>::either();
        };
    };
}

// spec: THD-01
// Exclusive access and ownership are not to be doubled.
is_not!(Manager: Clone);
is_not!(OwnedContainer: Clone);
is_not!(Claim: Clone);
is_not!(Context<'static>: Clone);
is_not!(Own<'static>: Clone);
is_not!(Inbox: Clone);
is_not!(World: Clone);
is_not!(Contents<'static>: Clone);
is_not!(Commands<'static>: Clone);
is_not!(Ticket<u8>: Clone);

// spec: THD-01
// What walks over a world stays on its thread; the rows of a batch are what other threads get.
is_not!(QueryIter<'static, &'static mut Health>: Send);
is_not!(Batches<'static, &'static mut Health>: Send);
is_not!(Chunks<'static, &'static mut Health>: Send);

#[test]
fn what_any_thread_may_do_is_on_types_to_give_away() {
    // spec: THD-01
    shared::<ManagerRef>();
    shared::<Container>();
    shared::<EventSender<u8>>();
    shared::<Mailbox>();
    shared::<Logger>();
    shared::<HeldLines>();
    shared::<SharedClock>();
    shared::<ManualClock>();
    shared::<ComponentRegistry>();
    shared::<Failure>();
    shared::<Workers>();
}

#[test]
fn owners_and_exclusive_access_move_between_threads() {
    // spec: THD-01
    send_sync::<Manager>();
    send_sync::<OwnedContainer>();
    send::<Claim>();
    send_sync::<World>();
    send::<Inbox>();
    send_sync::<Ticket<u8>>();
    send::<Box<dyn System>>();
    send::<Registration<Idle>>();
    send::<FnSystem<fn()>>();
    send::<Timer>();
    send::<Listener>();
    send_sync::<CommitPoint>();
    send::<Typed<Side>>();
}

#[test]
fn values_and_errors_go_anywhere() {
    // spec: THD-01
    send_sync::<Entity>();
    send_sync::<SystemKey>();
    send_sync::<Registered>();
    send_sync::<Uuid>();
    send_sync::<UuidText>();
    send_sync::<Moment>();
    send_sync::<Timing>();
    send_sync::<FixedStep>();
    send_sync::<Steps>();
    send_sync::<RealClock>();
    send_sync::<Level<'_>>();
    send_sync::<Origin>();
    send_sync::<ContainerState>();
    send_sync::<StopOutcome>();
    send_sync::<MessageLimits>();
    send_sync::<ImportLimits>();
    send_sync::<Imported>();
    send_sync::<Dangling>();
    send_sync::<WorldStatistics>();
    send_sync::<QueryStatistics>();
    send_sync::<Storage>();
    send_sync::<ComponentType>();
    send_sync::<Data>();
    send_sync::<Named<Health, Name>>();
    send_sync::<Resource>();
    send_sync::<RemovalMarks>();
    send_sync::<Phase>();
    send_sync::<Policy>();
    send_sync::<MessageErrorKind>();
    send_sync::<SendErrorKind>();
    send_sync::<ParseUuidErrorKind>();
    send_sync::<ImportErrorKind>();
    send_sync::<CommandErrorKind>();
    send_sync::<ComponentRef<Health>>();
    send_sync::<BundleFault>();
    send_sync::<BoxError>();
    send_sync::<SystemResult>();
    error::<AccessError>();
    error::<ClockError>();
    error::<CommandError>();
    error::<CommandErrors>();
    error::<ComponentError>();
    error::<ContainerError>();
    error::<EntityError>();
    error::<ExportError>();
    error::<FixedStepError>();
    error::<GroupError>();
    error::<ImportError>();
    error::<IntervalError>();
    error::<MessageError>();
    error::<ObserverError>();
    error::<ObserverErrors>();
    error::<ParamFault>();
    error::<ParseUuidError>();
    error::<QueryError>();
    error::<SendError>();
    error::<StartError>();
    error::<SystemError>();
    error::<TicketError>();
    error::<UpdateError>();
}

#[test]
fn what_is_borrowed_from_a_world_is_shared_like_what_it_lends() {
    // spec: THD-01
    send_sync::<Prepared<(&'static mut Health, Entity), (With<Health>, Without<Health>)>>();
    send_sync::<Or<(Added<Health>, Changed<Health>)>>();
    send_sync::<Contents<'_>>();
    send_sync::<Commands<'_>>();
    send_sync::<RemovedReader<Health>>();
    send_sync::<Group<(Health, Named<Health, Name>), Entity>>();
    send_sync::<GroupReader>();
    send_sync::<GroupChange>();
    send_sync::<GroupInfo<'_>>();
    send_sync::<ObserverInfo>();
    send_sync::<ObserverKey>();
    send_sync::<ObserverLimits>();
    send_sync::<On>();
    send_sync::<SystemAccess>();
    send_sync::<Conflict>();
    send_sync::<RunStatistics>();
    send_sync::<ResourceReader<u8>>();
    send_sync::<EventReader<Health>>();
    send_sync::<EventIter<'_, Health>>();
    send_sync::<NamedEvent>();
    send::<Batch<'_, &mut Health>>();
    send::<Chunk<'_, &mut Health>>();
    send::<View<'_, &Health>>();
    send::<Mut<'_, Health>>();
    send::<MutRows<'_, Health>>();
    send::<MutSlice<'_, Health>>();
    send::<EntityIter<'_>>();
    send::<EntityRows<'_>>();
    send::<OptionRows<'_, &Health>>();
    send::<OptionSlices<&[Health]>>();
    send::<TupleRows<'_, (&Health, Entity)>>();
    send::<EntityRef<'_>>();
    send::<EntityHandle<'_>>();
    send::<SpawnedEntities<'_>>();
    send::<NamedComponents<'_>>();
    send::<Res<'_, u8>>();
    send::<ResMut<'_, u8>>();
    send::<Events<'_, Health>>();
    send::<EventWriter<'_, Health>>();
    send::<Matches<'_, &mut Health>>();
}

/// Container code that takes everything in its hands as what it is.
fn every_part(cx: &mut Context<'_>) {
    let Context { world, this, .. } = cx;
    // A pattern of a reference takes a reference only, nothing that derefs to one.
    // spec: THD-02
    let &mut &mut ref mut plain = world;
    let _: &mut World = plain;
    let _: Option<&mut u8> = plain.resource_mut::<u8>();
    let _: Option<&mut Health> = plain.get_mut::<Health>("wolf");
    for health in plain.query::<&mut Health>() {
        let &mut Health = health;
    }
    let _: &mut Own<'_> = this;
    let _: &str = this.handle();
    let _: Option<Value> = this.next_message();
    let _: Option<&mut Idle> = cx.system_mut::<Idle>("idle");
    let _: Option<&Idle> = cx.system::<Idle>("idle");
    let _: Systems<'_> = cx.systems();
}

#[test]
fn container_code_has_plain_references() {
    // Nothing in it is given back on being dropped: a guard of a lock would be.
    // spec: THD-02
    assert!(!needs_drop::<Context<'_>>());
    // spec: THD-02
    assert!(!needs_drop::<Own<'_>>());
    assert!(!needs_drop::<SystemInfo<'_>>());

    let container = OwnedContainer::new("main").unwrap();
    container.set_silent();
    let mut claim = container.claim().unwrap();
    claim.add_system(Idle.named("idle").every_pass()).unwrap();
    every_part(&mut claim.context());
    // spec: THD-02
    let _: &mut World = claim.world();
    let _: Option<&mut Idle> = claim.system_mut::<Idle>("idle");
    claim
        .add_system(
            system("user", |cx| {
                every_part(cx);
                Ok(())
            })
            .every_pass(),
        )
        .unwrap();
    claim.update().unwrap();
}

/// Every type that the library shows stands in this file.
#[test]
fn no_public_type_is_left_out() {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let words = |text: &'static str| text.split(move |character| !is_word(character));
    let here = include_str!("auto_traits.rs");
    let exports = include_str!("../src/lib.rs")
        .split("pub use ")
        .skip(1)
        .filter_map(|rest| rest.split(';').next());
    // Traits: what implements them is for the user to say.
    let others = [
        "AnyComponent",
        "AskedKind",
        "Bundle",
        "Clock",
        "ColumnBatch",
        "EntityKey",
        "Filter",
        "GroupKinds",
        "IntoResult",
        "IntoRegistration",
        "ParallelSystem",
        "Param",
        "ParamFunction",
        "Query",
        "ReadOnlyQuery",
        "Register",
        "Timeless",
        "Which",
    ];
    let mut count = 0;
    for name in exports.flat_map(words) {
        let is_type = name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase);
        if is_type {
            count += 1;
            // spec: THD-01
            assert!(
                words(here).any(|word| word == name),
                "{name} is not checked"
            );
        }
    }
    assert!(count > others.len() + 60, "{count}");
}

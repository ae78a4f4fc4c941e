//! The component kinds of the model test, and the ledger that counts every drop.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ecs::{Bundle, Component, Data, Named, Storage, TypeName, Value, json};

/// What an armed [`P`] says when it is dropped.
pub(crate) const ARMED: &str = "an armed component was dropped";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Tag {
    A,
    A2,
    B,
    Z,
    O64,
    O4K,
    S,
    S2,
    S3,
    P,
    Data,
}

impl Tag {
    pub(crate) fn is_sparse(self) -> bool {
        matches!(self, Self::S | Self::S3)
    }
}

/// A type name and a Rust type.
pub(crate) type Kind = (&'static str, Tag);

/// What the model knows of a component.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) payload: u64,
    /// Its place in the ledger; zero-sized components have none.
    pub(crate) token: Option<usize>,
    pub(crate) armed: bool,
    pub(crate) added: u64,
    pub(crate) changed: u64,
}

#[derive(Default)]
struct Ledger {
    drops: Vec<u8>,
    sizeless_made: usize,
    sizeless_dropped: usize,
}

thread_local! {
    static LEDGER: RefCell<Ledger> = RefCell::default();
}

pub(crate) fn reset_ledger() {
    LEDGER.with_borrow_mut(|ledger| *ledger = Ledger::default());
}

/// Compares the ledger with the tokens and the number of zero-sized components that should be alive.
pub(crate) fn check_ledger(alive: &[usize], sizeless: usize) {
    LEDGER.with_borrow(|ledger| {
        let mut expected = vec![1_u8; ledger.drops.len()];
        for token in alive {
            expected[*token] = 0;
        }
        // spec: ENT-04, COMP-02, COMP-08
        assert_eq!(ledger.drops, expected, "drops of each value ever made");
        // spec: ENT-04, COMP-08
        assert_eq!(
            ledger.sizeless_made - ledger.sizeless_dropped,
            sizeless,
            "zero-sized components alive"
        );
    });
}

/// Counts one value's drops.
#[derive(Debug)]
pub(crate) struct Token(usize);

impl Token {
    fn new() -> Self {
        LEDGER.with_borrow_mut(|ledger| {
            ledger.drops.push(0);
            Self(ledger.drops.len() - 1)
        })
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        LEDGER.with_borrow_mut(|ledger| ledger.drops[self.0] += 1);
    }
}

/// Makes components; each has another payload.
#[derive(Default)]
pub(crate) struct Maker {
    next: u64,
    /// Whether the next [`P`] panics when it is dropped.
    pub(crate) armed: bool,
}

impl Maker {
    pub(crate) fn payload(&mut self) -> u64 {
        self.next += 1;
        self.next
    }
}

pub(crate) trait TestKind: Component {
    const TAG: Tag;
    fn make(maker: &mut Maker) -> (Self, Cell)
    where
        Self: Sized;
    fn payload(&self) -> u64;
    fn set(&mut self, payload: u64);
}

fn cell(payload: u64, token: Option<&Token>, armed: bool) -> Cell {
    Cell {
        payload,
        token: token.map(|token| token.0),
        armed,
        added: 0,
        changed: 0,
    }
}

macro_rules! kinds {
    ($($(#[$layout:meta])* $name:ident, $type_name:literal, $storage:ident;)*) => {$(
        $(#[$layout])*
        #[derive(Debug)]
        pub(crate) struct $name {
            payload: u64,
            _token: Token,
        }

        impl Component for $name {
            fn type_name() -> &'static str {
                $type_name
            }

            fn export(&self) -> Value {
                json!(self.payload)
            }

            fn storage() -> Storage {
                Storage::$storage
            }
        }

        impl TestKind for $name {
            const TAG: Tag = Tag::$name;

            fn make(maker: &mut Maker) -> (Self, Cell) {
                let (payload, token) = (maker.payload(), Token::new());
                let cell = cell(payload, Some(&token), false);
                (Self { payload, _token: token }, cell)
            }

            fn payload(&self) -> u64 {
                self.payload
            }

            fn set(&mut self, payload: u64) {
                self.payload = payload;
            }
        }
    )*};
}

kinds! {
    A, "A", Table;
    A2, "A", Table;
    B, "B", Table;
    #[repr(align(64))]
    O64, "O64", Table;
    #[repr(align(4096))]
    O4K, "O4K", Table;
    S, "S", Sparse;
    S2, "S", Table;
    S3, "S", Sparse;
}

/// Zero-sized.
#[derive(Debug)]
pub(crate) struct Z(());

impl Component for Z {
    fn type_name() -> &'static str {
        "Z"
    }

    fn export(&self) -> Value {
        json!(0)
    }
}

impl TestKind for Z {
    const TAG: Tag = Tag::Z;

    fn make(_: &mut Maker) -> (Self, Cell) {
        LEDGER.with_borrow_mut(|ledger| ledger.sizeless_made += 1);
        (Self(()), cell(0, None, false))
    }

    fn payload(&self) -> u64 {
        0
    }

    fn set(&mut self, _: u64) {}
}

impl Drop for Z {
    fn drop(&mut self) {
        LEDGER.with_borrow_mut(|ledger| ledger.sizeless_dropped += 1);
    }
}

/// Panics when it is dropped, if it is armed.
#[derive(Debug)]
pub(crate) struct P {
    payload: u64,
    armed: bool,
    _token: Token,
}

impl Component for P {
    fn type_name() -> &'static str {
        "P"
    }

    fn export(&self) -> Value {
        json!(self.payload)
    }
}

impl TestKind for P {
    const TAG: Tag = Tag::P;

    fn make(maker: &mut Maker) -> (Self, Cell) {
        let (payload, armed, token) = (maker.payload(), maker.armed, Token::new());
        let cell = cell(payload, Some(&token), armed);
        let made = Self {
            payload,
            armed,
            _token: token,
        };
        (made, cell)
    }

    fn payload(&self) -> u64 {
        self.payload
    }

    fn set(&mut self, payload: u64) {
        self.payload = payload;
    }
}

impl Drop for P {
    fn drop(&mut self) {
        if self.armed {
            std::panic::panic_any(ARMED);
        }
    }
}

impl TestKind for Data {
    const TAG: Tag = Tag::Data;

    fn make(maker: &mut Maker) -> (Self, Cell) {
        let payload = maker.payload();
        (Self(json!(payload)), cell(payload, None, false))
    }

    fn payload(&self) -> u64 {
        self.0.as_u64().unwrap_or(u64::MAX)
    }

    fn set(&mut self, payload: u64) {
        self.0 = json!(payload);
    }
}

/// A name that no type gives itself.
#[derive(Debug)]
pub(crate) struct Other;

impl TypeName for Other {
    const NAME: &'static str = "Other";
}

/// A bundle that can be made, with what the model is to know of it.
pub(crate) trait TestBundle: Bundle {
    fn make(maker: &mut Maker, cells: &mut Vec<(Kind, Cell)>) -> Self;
    fn kinds(kinds: &mut Vec<Kind>);
}

impl<T: TestKind> TestBundle for T {
    fn make(maker: &mut Maker, cells: &mut Vec<(Kind, Cell)>) -> Self {
        let (made, cell) = <T as TestKind>::make(maker);
        cells.push(((T::type_name(), T::TAG), cell));
        made
    }

    fn kinds(kinds: &mut Vec<Kind>) {
        kinds.push((T::type_name(), T::TAG));
    }
}

impl<T: TestKind> TestBundle for Named<T, Other> {
    fn make(maker: &mut Maker, cells: &mut Vec<(Kind, Cell)>) -> Self {
        let (made, cell) = <T as TestKind>::make(maker);
        cells.push(((Other::NAME, T::TAG), cell));
        Self::new(made)
    }

    fn kinds(kinds: &mut Vec<Kind>) {
        kinds.push((Other::NAME, T::TAG));
    }
}

macro_rules! tuples {
    ($(($($part:ident),*))*) => {$(
        impl<$($part: TestBundle),*> TestBundle for ($($part,)*) {
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no parts")]
            fn make(maker: &mut Maker, cells: &mut Vec<(Kind, Cell)>) -> Self {
                ($($part::make(maker, cells),)*)
            }

            #[allow(unused_variables, reason = "the empty tuple has no parts")]
            fn kinds(kinds: &mut Vec<Kind>) {
                $($part::kinds(kinds);)*
            }
        }
    )*};
}

tuples! { () (A1) (A1, B1) (A1, B1, C1) }

/// Runs code for the kind type that a byte chooses.
macro_rules! with_kind {
    ($which:expr, $T:ident => $code:expr) => {
        match $which % 10 {
            0 => {
                type $T = $crate::kinds::A;
                $code
            }
            1 => {
                type $T = $crate::kinds::A2;
                $code
            }
            2 => {
                type $T = $crate::kinds::B;
                $code
            }
            3 => {
                type $T = $crate::kinds::Z;
                $code
            }
            4 => {
                type $T = $crate::kinds::O64;
                $code
            }
            5 => {
                type $T = $crate::kinds::O4K;
                $code
            }
            6 => {
                type $T = $crate::kinds::S;
                $code
            }
            7 => {
                type $T = $crate::kinds::S2;
                $code
            }
            8 => {
                type $T = $crate::kinds::S3;
                $code
            }
            _ => {
                type $T = $crate::kinds::P;
                $code
            }
        }
    };
}
pub(crate) use with_kind;

/// Runs code for the bundle type that a byte chooses.
macro_rules! with_bundle {
    ($which:expr, $T:ident => $code:expr) => {{
        use $crate::kinds::*;
        match $which % 18 {
            0 => {
                type $T = ();
                $code
            }
            1 => {
                type $T = A;
                $code
            }
            2 => {
                type $T = (B, A);
                $code
            }
            3 => {
                type $T = (Z, A);
                $code
            }
            4 => {
                type $T = (A, Z, O64);
                $code
            }
            5 => {
                type $T = (O4K, B);
                $code
            }
            6 => {
                type $T = (S, A);
                $code
            }
            7 => {
                type $T = (S,);
                $code
            }
            8 => {
                type $T = P;
                $code
            }
            9 => {
                type $T = (P, A);
                $code
            }
            10 => {
                type $T = (A2, B);
                $code
            }
            11 => {
                type $T = (A, S2);
                $code
            }
            12 => {
                type $T = (S3, B);
                $code
            }
            13 => {
                type $T = (ecs::Named<A, Other>, A);
                $code
            }
            14 => {
                type $T = (B, (Z, P), S);
                $code
            }
            15 => {
                type $T = (ecs::Named<S, Other>, B);
                $code
            }
            16 => {
                type $T = (O64, (O4K, Z));
                $code
            }
            _ => {
                type $T = (ecs::Named<B, Other>, S);
                $code
            }
        }
    }};
}
pub(crate) use with_bundle;

/// Runs code in which armed components may be dropped; `None` when one was. Other panics go on.
pub(crate) fn caught<R>(code: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(outcome) => Some(outcome),
        Err(payload) if payload.downcast_ref::<&str>() == Some(&ARMED) => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Keeps the expected panics out of the test's output.
pub(crate) fn quiet_armed_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&ARMED) {
                before(info);
            }
        }));
    });
}

//! The strings that endpoints are made of.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
};

use crate::ObjectName;

/// A string of an endpoint: shared (`Arc<str>`, to be kept), borrowed (`&str`, from an object of the API) or owned.
pub trait Text: Clone + Eq + fmt::Debug + Deref<Target = str> + Into<Arc<str>> {
    /// Whether equal strings are usually one and the same, so that they are compared without a look at them.
    const SHARED: bool = false;

    /// How strings are held that belong together: shared as they are, but all at once, or in place.
    type Held<V: Clone + Eq + fmt::Debug>: Clone + Eq + fmt::Debug + Deref<Target = V> + From<V>;
}

impl Text for Arc<str> {
    const SHARED: bool = true;

    type Held<V: Clone + Eq + fmt::Debug> = Arc<V>;
}

impl Text for &str {
    type Held<V: Clone + Eq + fmt::Debug> = InPlace<V>;
}

impl Text for String {
    type Held<V: Clone + Eq + fmt::Debug> = InPlace<V>;
}

/// Nothing but what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlace<V>(pub V);

impl<V> Deref for InPlace<V> {
    type Target = V;

    #[inline]
    fn deref(&self) -> &V {
        &self.0
    }
}

impl<V> DerefMut for InPlace<V> {
    #[inline]
    fn deref_mut(&mut self) -> &mut V {
        &mut self.0
    }
}

impl<V> From<V> for InPlace<V> {
    #[inline]
    fn from(held: V) -> Self {
        Self(held)
    }
}

/// Makes the strings of what is read or copied, and can make one of equal ones. Any function from one kind of string to the
/// other does; one that also shares names of objects saves memory, and the time to compare them.
pub trait Share<I, T: Text> {
    /// The string of a text.
    fn text(&mut self, text: I) -> T;

    /// The names of an object.
    #[inline]
    fn object(&mut self, names: ObjectName<I>) -> T::Held<ObjectName<T>> {
        let mut text = |text: Option<I>| text.map(|text| self.text(text));
        ObjectName {
            namespace: text(names.namespace),
            name: text(names.name),
            uid: text(names.uid),
        }
        .into()
    }
}

impl<I, T: Text, F: FnMut(I) -> T> Share<I, T> for F {
    #[inline]
    fn text(&mut self, text: I) -> T {
        self(text)
    }
}

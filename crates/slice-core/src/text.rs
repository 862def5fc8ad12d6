//! The strings that endpoints are made of.

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, LazyLock},
};

const POD: &str = "Pod";
static SHARED_POD: LazyLock<Arc<str>> = LazyLock::new(|| POD.into());

/// A string of an endpoint: shared (`Arc<str>`, to be kept), borrowed (`&str`, from an object of the API) or owned.
pub trait Text: Clone + Eq + fmt::Debug + Deref<Target = str> + Into<Arc<str>> {
    /// Whether equal strings are usually one and the same, so that they are compared without a look at them.
    const SHARED: bool = false;

    /// The kind of what nearly all endpoints stand for.
    fn pod() -> Self;
}

impl Text for Arc<str> {
    const SHARED: bool = true;

    fn pod() -> Self {
        Self::clone(&SHARED_POD)
    }
}

impl Text for &str {
    fn pod() -> Self {
        POD
    }
}

impl Text for String {
    fn pod() -> Self {
        POD.to_owned()
    }
}

//! Field paths. A path is only formatted when there is an error.

use std::fmt;

/// The path of a field: a linked list of borrowed steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Child(&'a str),
    Index(usize),
    Key(&'a str),
}

impl<'a> Path<'a> {
    pub(crate) const fn new(name: &'a str) -> Self {
        Self {
            parent: None,
            step: Step::Child(name),
        }
    }

    pub(crate) const fn child(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Child(name),
        }
    }

    pub(crate) const fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }

    pub(crate) const fn key(&'a self, key: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Child(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Child(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

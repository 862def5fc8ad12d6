//! The channel from the reflectors to the engine, bounded by the size of the waiting events.
//!
//! A bound on their number alone would be none on memory: the smallest and the largest slice differ by a factor of a thousand.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// JSON bytes of the events that may wait in a channel. A decoded slice needs about three times its JSON. A full channel stops
/// the reflectors from reading their connections: backpressure to the server.
const CAPACITY_BYTES: usize = 8 << 20;
/// JSON bytes per permit. Every event takes at least one, because a decoded object is never smaller than its type.
const BYTES_PER_PERMIT: usize = 4 << 10;

/// A channel with the default capacity.
pub(crate) fn event_channel<T>() -> (EventSender<T>, EventReceiver<T>) {
    with_permits(CAPACITY_BYTES / BYTES_PER_PERMIT)
}

fn with_permits<T>(capacity: usize) -> (EventSender<T>, EventReceiver<T>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let permits = Arc::new(Semaphore::new(capacity));
    (
        EventSender {
            sender,
            permits: Arc::clone(&permits),
            capacity: u32::try_from(capacity).unwrap_or(u32::MAX),
        },
        EventReceiver { receiver, permits },
    )
}

/// The sender of a reflector.
#[derive(Debug)]
pub(crate) struct EventSender<T> {
    /// Unbounded: the permits are the bound.
    sender: mpsc::UnboundedSender<(T, OwnedSemaphorePermit)>,
    permits: Arc<Semaphore>,
    /// The number of permits if no event waits.
    capacity: u32,
}

impl<T> Clone for EventSender<T> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            permits: Arc::clone(&self.permits),
            capacity: self.capacity,
        }
    }
}

/// The receiver was dropped.
#[derive(Debug)]
pub(crate) struct ReceiverDropped;

impl<T> EventSender<T> {
    /// Sends an event of this many JSON bytes as soon as there is room for it. An event larger than the channel waits until the
    /// channel is empty.
    pub(crate) async fn send(&self, event: T, bytes: usize) -> Result<(), ReceiverDropped> {
        let permits = u32::try_from(bytes.div_ceil(BYTES_PER_PERMIT)).unwrap_or(u32::MAX);
        let permits = Arc::clone(&self.permits).acquire_many_owned(permits.clamp(1, self.capacity));
        let permits = permits.await.map_err(|_| ReceiverDropped)?;
        self.sender.send((event, permits)).map_err(|_| ReceiverDropped)
    }
}

/// The receiver of the engine. Taking an event makes room for the next.
#[derive(Debug)]
pub(crate) struct EventReceiver<T> {
    receiver: mpsc::UnboundedReceiver<(T, OwnedSemaphorePermit)>,
    permits: Arc<Semaphore>,
}

impl<T> EventReceiver<T> {
    /// The next event; none if all senders were dropped. Cancelling the call loses no event.
    pub(crate) async fn recv(&mut self) -> Option<T> {
        let (event, _permits) = self.receiver.recv().await?;
        Some(event)
    }

    /// The next event, if one waits.
    pub(crate) fn try_recv(&mut self) -> Option<T> {
        let (event, _permits) = self.receiver.try_recv().ok()?;
        Some(event)
    }
}

impl<T> Drop for EventReceiver<T> {
    /// Ends the sends that wait for room.
    fn drop(&mut self) {
        self.permits.close();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Sends at once, or not at all.
    fn try_send(sender: &EventSender<&'static str>, event: &'static str, bytes: usize) -> bool {
        sender
            .send(event, bytes)
            .now_or_never()
            .is_some_and(|sent| sent.is_ok())
    }

    #[test]
    fn waiting_events_are_bounded_by_their_size() {
        let (sender, mut receiver) = with_permits(4);
        assert!(try_send(&sender, "two", BYTES_PER_PERMIT + 1));
        assert!(!try_send(&sender, "three", 3 * BYTES_PER_PERMIT));
        assert!(try_send(&sender, "small", 0) && try_send(&sender, "last", BYTES_PER_PERMIT));
        assert!(!try_send(&sender, "small", 0), "small events are bounded too");
        assert_eq!(receiver.try_recv(), Some("two"));
        assert!(!try_send(&sender, "three", 3 * BYTES_PER_PERMIT));
        assert!(try_send(&sender, "two", 2 * BYTES_PER_PERMIT));
        let rest: Vec<_> = std::iter::from_fn(|| receiver.try_recv()).collect();
        assert_eq!(rest, ["small", "last", "two"]);
    }

    #[test]
    fn a_large_slice_takes_a_large_part_of_the_capacity() {
        let (sender, _receiver) = event_channel();
        let sent = (0..1024)
            .take_while(|_| try_send(&sender, "slice of 1000 endpoints", 350_000))
            .count();
        assert_eq!(sent, 23);
    }

    #[test]
    fn an_event_larger_than_the_channel_waits_until_it_is_empty() {
        let (sender, mut receiver) = with_permits(2);
        assert!(try_send(&sender, "small", 1));
        assert!(!try_send(&sender, "large", usize::MAX));
        receiver.try_recv();
        assert!(try_send(&sender, "large", usize::MAX));
        assert!(!try_send(&sender, "small", 1));
    }

    #[tokio::test]
    async fn a_waiting_sender_ends_with_the_receiver() {
        let (sender, receiver) = with_permits(1);
        assert!(try_send(&sender, "first", 1));
        let waiting = sender.send("second", 1);
        futures::pin_mut!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(receiver);
        assert!(waiting.await.is_err());
        assert!(sender.send("third", 1).await.is_err());
    }

    #[tokio::test]
    async fn the_receiver_ends_with_the_senders() {
        let (sender, mut receiver) = with_permits(1);
        let other = sender.clone();
        assert!(try_send(&other, "first", 1));
        drop((sender, other));
        assert_eq!((receiver.recv().await, receiver.recv().await), (Some("first"), None));
    }
}

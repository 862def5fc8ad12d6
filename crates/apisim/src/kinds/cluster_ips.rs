//! Allocation of cluster IPs and node ports.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Allocators of the cluster IPs and node ports of Services: `10.0.0.0/16`, `fd00:10::/108` and 30000–32767.
///
/// Allocation is in order; a released value is reused only after all others. As in a real cluster, the start of each range
/// is reserved for values that clients request explicitly.
#[derive(Clone, Debug)]
pub(crate) struct ClusterIps {
    ipv4: Pool,
    ipv6: Pool,
    node_ports: Pool,
}

/// The reason why a cluster IP or node port cannot be allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AllocationError {
    #[error("is not in the range that the server hands out")]
    OutOfRange,
    #[error("is taken by another Service")]
    InUse,
    #[error("all are taken")]
    Exhausted,
}

impl Default for ClusterIps {
    fn default() -> Self {
        let ipv4 = u128::from(Ipv4Addr::new(10, 0, 0, 0).to_bits());
        let ipv6 = Ipv6Addr::new(0xfd00, 0x10, 0, 0, 0, 0, 0, 0).to_bits();
        let mut ips = Self {
            // The network address and the IPv4 broadcast address are not allocated.
            ipv4: Pool::new(ipv4 + 1, ipv4 + 0xfffe, 256),
            ipv6: Pool::new(ipv6 + 1, ipv6 + 0xf_ffff, 256),
            node_ports: Pool::new(30_000, 32_767, 86),
        };
        // The Service default/kubernetes, which the server creates itself.
        ips.reserve_ip(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
        ips
    }
}

impl ClusterIps {
    /// The requested address if it is free, otherwise the next free address of the family. Does not reserve it.
    pub(super) fn choose_ip(&self, ipv6: bool, requested: Option<IpAddr>) -> Result<IpAddr, AllocationError> {
        let pool = if ipv6 { &self.ipv6 } else { &self.ipv4 };
        match requested {
            Some(ip) if ip.is_ipv6() != ipv6 => Err(AllocationError::OutOfRange),
            Some(ip) => pool.check(number(ip)).map(|()| ip),
            None => pool.next_free(&BTreeSet::new()).map(|number| address(ipv6, number)),
        }
    }

    /// Checks that a node port is in range and free.
    pub(super) fn check_node_port(&self, port: i32) -> Result<(), AllocationError> {
        let port = u128::try_from(port).map_err(|_| AllocationError::OutOfRange)?;
        self.node_ports.check(port)
    }

    /// The next free node port that is not in `chosen`. Does not reserve it.
    pub(super) fn choose_node_port(&self, chosen: &BTreeSet<i32>) -> Result<i32, AllocationError> {
        let chosen = chosen.iter().filter_map(|port| u128::try_from(*port).ok()).collect();
        let port = self.node_ports.next_free(&chosen)?;
        i32::try_from(port).map_err(|_| AllocationError::OutOfRange)
    }

    pub(super) fn reserve_ip(&mut self, ip: IpAddr) {
        self.pool(ip).reserve(number(ip));
    }

    pub(super) fn release_ip(&mut self, ip: IpAddr) {
        self.pool(ip).allocated.remove(&number(ip));
    }

    pub(super) fn reserve_node_port(&mut self, port: i32) {
        if let Ok(port) = u128::try_from(port) {
            self.node_ports.reserve(port);
        }
    }

    pub(super) fn release_node_port(&mut self, port: i32) {
        if let Ok(port) = u128::try_from(port) {
            self.node_ports.allocated.remove(&port);
        }
    }

    fn pool(&mut self, ip: IpAddr) -> &mut Pool {
        if ip.is_ipv6() { &mut self.ipv6 } else { &mut self.ipv4 }
    }
}

fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

fn address(ipv6: bool, number: u128) -> IpAddr {
    match u32::try_from(number) {
        Ok(number) if !ipv6 => IpAddr::V4(Ipv4Addr::from_bits(number)),
        _ => IpAddr::V6(Ipv6Addr::from_bits(number)),
    }
}

#[derive(Clone, Debug)]
struct Pool {
    first: u128,
    last: u128,
    /// The start of the search for a free number.
    next: u128,
    allocated: BTreeSet<u128>,
}

impl Pool {
    fn new(first: u128, last: u128, reserved: u128) -> Self {
        Self {
            first,
            last,
            next: first + reserved,
            allocated: BTreeSet::new(),
        }
    }

    fn check(&self, number: u128) -> Result<(), AllocationError> {
        if !(self.first..=self.last).contains(&number) {
            return Err(AllocationError::OutOfRange);
        }
        if self.allocated.contains(&number) {
            Err(AllocationError::InUse)
        } else {
            Ok(())
        }
    }

    fn next_free(&self, except: &BTreeSet<u128>) -> Result<u128, AllocationError> {
        let free = |number: &u128| !self.allocated.contains(number) && !except.contains(number);
        let mut candidates = (self.next..=self.last).chain(self.first..self.next);
        candidates.find(free).ok_or(AllocationError::Exhausted)
    }

    fn reserve(&mut self, number: u128) {
        if self.allocated.insert(number) && number == self.next {
            self.next = if number == self.last { self.first } else { number + 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_are_allocated_in_order_and_reused_last() {
        let mut ips = ClusterIps::default();
        let allocate = |ips: &mut ClusterIps| {
            let chosen = ips.choose_ip(false, None).unwrap();
            ips.reserve_ip(chosen);
            chosen
        };
        assert_eq!(
            [allocate(&mut ips), allocate(&mut ips)],
            [ip("10.0.1.1"), ip("10.0.1.2")]
        );
        ips.release_ip(ip("10.0.1.1"));
        assert_eq!(allocate(&mut ips), ip("10.0.1.3"));
        assert_eq!(ips.choose_ip(true, None), Ok(ip("fd00:10::101")));
    }

    #[test]
    fn requested_address_must_be_free_and_in_range() {
        let mut ips = ClusterIps::default();
        let choose = |ips: &ClusterIps, text| ips.choose_ip(false, Some(ip(text)));
        assert_eq!(choose(&ips, "10.0.0.10"), Ok(ip("10.0.0.10")));
        ips.reserve_ip(ip("10.0.0.10"));
        assert_eq!(choose(&ips, "10.0.0.10"), Err(AllocationError::InUse));
        assert_eq!(choose(&ips, "10.0.0.1"), Err(AllocationError::InUse));
        assert_eq!(choose(&ips, "10.1.0.1"), Err(AllocationError::OutOfRange));
        ips.release_ip(ip("10.0.0.10"));
        assert_eq!(choose(&ips, "10.0.0.10"), Ok(ip("10.0.0.10")));
    }

    #[test]
    fn full_range_is_exhausted() {
        let mut pool = Pool::new(1, 3, 2);
        for expected in [3, 1, 2] {
            let number = pool.next_free(&BTreeSet::new()).unwrap();
            assert_eq!(number, expected);
            pool.reserve(number);
        }
        assert_eq!(pool.next_free(&BTreeSet::new()), Err(AllocationError::Exhausted));
    }
}

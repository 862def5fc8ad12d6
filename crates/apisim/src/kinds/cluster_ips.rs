//! Which cluster IPs and node ports are taken.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Hands out the cluster IPs and node ports of Services: `10.0.0.0/16`, `fd00:10::/108` and 30000–32767.
///
/// The next free one is given, in order, and a returned one only after all others. As in a real cluster the
/// beginning of each range is left to those who ask for a certain one.
#[derive(Clone, Debug)]
pub(crate) struct ClusterIps {
    ipv4: Pool,
    ipv6: Pool,
    node_ports: Pool,
}

/// Why a Service does not get what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("is not in the range that the server hands out")]
    OutOfRange,
    #[error("is taken by another Service")]
    Taken,
    #[error("all are taken")]
    Exhausted,
}

impl Default for ClusterIps {
    fn default() -> Self {
        let ipv4 = u128::from(Ipv4Addr::new(10, 0, 0, 0).to_bits());
        let ipv6 = Ipv6Addr::new(0xfd00, 0x10, 0, 0, 0, 0, 0, 0).to_bits();
        let mut ips = Self {
            // Neither the first address of a range nor the IPv4 broadcast address is given.
            ipv4: Pool::new(ipv4 + 1, ipv4 + 0xfffe, 256),
            ipv6: Pool::new(ipv6 + 1, ipv6 + 0xf_ffff, 256),
            node_ports: Pool::new(30_000, 32_767, 86),
        };
        // The Service default/kubernetes, which the server makes for itself.
        ips.take_ip(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)));
        ips
    }
}

impl ClusterIps {
    /// A free address of a family, or the one asked for.
    pub(super) fn choose_ip(&self, ipv6: bool, asked: Option<IpAddr>) -> Result<IpAddr, Refusal> {
        let pool = if ipv6 { &self.ipv6 } else { &self.ipv4 };
        match asked {
            Some(ip) if ip.is_ipv6() != ipv6 => Err(Refusal::OutOfRange),
            Some(ip) => pool.check(number(ip)).map(|()| ip),
            None => pool.next_free(&BTreeSet::new()).map(|number| address(ipv6, number)),
        }
    }

    /// Whether a node port can be had.
    pub(super) fn check_node_port(&self, port: i32) -> Result<(), Refusal> {
        let port = u128::try_from(port).map_err(|_| Refusal::OutOfRange)?;
        self.node_ports.check(port)
    }

    /// A free node port that is not among `chosen`.
    pub(super) fn choose_node_port(&self, chosen: &BTreeSet<i32>) -> Result<i32, Refusal> {
        let chosen = chosen.iter().filter_map(|port| u128::try_from(*port).ok()).collect();
        let port = self.node_ports.next_free(&chosen)?;
        i32::try_from(port).map_err(|_| Refusal::OutOfRange)
    }

    pub(super) fn take_ip(&mut self, ip: IpAddr) {
        self.pool(ip).take(number(ip));
    }

    pub(super) fn release_ip(&mut self, ip: IpAddr) {
        self.pool(ip).taken.remove(&number(ip));
    }

    pub(super) fn take_node_port(&mut self, port: i32) {
        if let Ok(port) = u128::try_from(port) {
            self.node_ports.take(port);
        }
    }

    pub(super) fn release_node_port(&mut self, port: i32) {
        if let Ok(port) = u128::try_from(port) {
            self.node_ports.taken.remove(&port);
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
    /// Where the search for a free one begins.
    next: u128,
    taken: BTreeSet<u128>,
}

impl Pool {
    fn new(first: u128, last: u128, kept_for_requests: u128) -> Self {
        Self {
            first,
            last,
            next: first + kept_for_requests,
            taken: BTreeSet::new(),
        }
    }

    fn check(&self, number: u128) -> Result<(), Refusal> {
        if !(self.first..=self.last).contains(&number) {
            return Err(Refusal::OutOfRange);
        }
        if self.taken.contains(&number) {
            Err(Refusal::Taken)
        } else {
            Ok(())
        }
    }

    fn next_free(&self, but: &BTreeSet<u128>) -> Result<u128, Refusal> {
        let free = |number: &u128| !self.taken.contains(number) && !but.contains(number);
        let mut later = (self.next..=self.last).chain(self.first..self.next);
        later.find(free).ok_or(Refusal::Exhausted)
    }

    fn take(&mut self, number: u128) {
        if self.taken.insert(number) && number == self.next {
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
    fn addresses_come_in_order_and_come_back_last() {
        let mut ips = ClusterIps::default();
        let take = |ips: &mut ClusterIps| {
            let chosen = ips.choose_ip(false, None).unwrap();
            ips.take_ip(chosen);
            chosen
        };
        assert_eq!([take(&mut ips), take(&mut ips)], [ip("10.0.1.1"), ip("10.0.1.2")]);
        ips.release_ip(ip("10.0.1.1"));
        assert_eq!(take(&mut ips), ip("10.0.1.3"));
        assert_eq!(ips.choose_ip(true, None), Ok(ip("fd00:10::101")));
    }

    #[test]
    fn a_certain_address_is_had_once_and_only_from_the_range() {
        let mut ips = ClusterIps::default();
        let ask = |ips: &ClusterIps, text| ips.choose_ip(false, Some(ip(text)));
        assert_eq!(ask(&ips, "10.0.0.10"), Ok(ip("10.0.0.10")));
        ips.take_ip(ip("10.0.0.10"));
        assert_eq!(ask(&ips, "10.0.0.10"), Err(Refusal::Taken));
        assert_eq!(ask(&ips, "10.0.0.1"), Err(Refusal::Taken));
        assert_eq!(ask(&ips, "10.1.0.1"), Err(Refusal::OutOfRange));
        ips.release_ip(ip("10.0.0.10"));
        assert_eq!(ask(&ips, "10.0.0.10"), Ok(ip("10.0.0.10")));
    }

    #[test]
    fn a_full_range_says_so() {
        let mut pool = Pool::new(1, 3, 2);
        for expected in [3, 1, 2] {
            let number = pool.next_free(&BTreeSet::new()).unwrap();
            assert_eq!(number, expected);
            pool.take(number);
        }
        assert_eq!(pool.next_free(&BTreeSet::new()), Err(Refusal::Exhausted));
    }
}

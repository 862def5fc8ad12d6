//! A slice to be written, made of endpoints that are still elsewhere.

use std::{collections::BTreeMap, ptr, sync::Arc};

use k8s_openapi::{api::discovery::v1 as api, apimachinery::pkg::apis::meta::v1::ObjectMeta};

use crate::{
    AddressType, Endpoint, EndpointRef, EndpointSource, HintedNames, Hints, HintsRef, PortMapKey, Slice,
    UnknownAddressType,
    slice::{write_endpoint, write_slice},
};

/// A slice to be written. Its endpoints stay where they are, in a stored slice or in what they are derived from, until they are
/// written: to copy them takes longer than to decide about them.
#[derive(Clone, Debug)]
pub struct Draft<'a, E: EndpointSource> {
    /// Everything about it but its content.
    pub metadata: ObjectMeta,
    /// What its addresses are.
    pub address_type: Result<AddressType, UnknownAddressType>,
    /// The ports of all its endpoints.
    pub ports: PortMapKey,
    /// Its endpoints, in order.
    pub endpoints: Vec<DraftEndpoint<'a, E>>,
}

/// An endpoint of a slice to be written, and its hints.
#[derive(Clone, Debug)]
pub struct DraftEndpoint<'a, E: EndpointSource> {
    source: Source<'a, E>,
    meant_for: MeantFor<'a, E::Text>,
}

/// For whom an endpoint to be written is meant.
#[derive(Clone, Debug)]
enum MeantFor<'a, T> {
    Nobody,
    OwnZone,
    Stored(&'a Hints<T>),
    Names(Arc<HintedNames>),
}

#[derive(Clone, Copy, Debug)]
enum Source<'a, E: EndpointSource> {
    /// As it is wanted.
    Wanted(E),
    /// As it is stored, but for what only old API versions could write (R67).
    Kept(&'a Endpoint<E::Text>),
    /// As it is stored, in every respect: its slice is written for other reasons.
    Whole(&'a Endpoint<E::Text>),
}

impl<'a, E: EndpointSource> Draft<'a, E> {
    /// A stored slice as it is.
    #[must_use]
    pub fn copy(slice: &'a Slice<E::Text>) -> Self {
        let whole = |endpoint: &'a Endpoint<E::Text>| DraftEndpoint {
            source: Source::Whole(endpoint),
            meant_for: endpoint.hints.as_ref().map_or(MeantFor::Nobody, MeantFor::Stored),
        };
        Self::rewrite(slice, slice.ports.clone(), slice.endpoints.iter().map(whole).collect())
    }

    /// A stored slice with other content.
    #[must_use]
    pub fn rewrite(slice: &Slice<E::Text>, ports: PortMapKey, endpoints: Vec<DraftEndpoint<'a, E>>) -> Self {
        Self {
            metadata: slice.metadata.clone(),
            address_type: slice.address_type.clone(),
            ports,
            endpoints,
        }
    }

    /// The slice as the API has it.
    #[must_use]
    pub fn into_api(self) -> api::EndpointSlice {
        let endpoints = self.endpoints.iter();
        let endpoints = endpoints
            .map(|endpoint| write_endpoint(&endpoint.view(), endpoint.hints(), endpoint.deprecated_topology()));
        let endpoints = endpoints.collect();
        write_slice(self.metadata, &self.address_type, &self.ports, endpoints)
    }

    /// The slice as it is kept.
    #[must_use]
    pub fn into_slice(self) -> Slice<E::Text> {
        let mut endpoints: Vec<_> = self.endpoints.iter().map(|draft| draft.to_endpoint()).collect();
        for (endpoint, draft) in endpoints.iter_mut().zip(self.endpoints) {
            if let Some(deprecated) = draft.deprecated_topology() {
                endpoint.deprecated_topology = Some(Box::new(deprecated.clone()));
            }
            match draft.meant_for {
                MeantFor::Nobody => {}
                MeantFor::OwnZone => endpoint.hints = endpoint.zone.clone().map(Hints::Zone),
                MeantFor::Stored(hints) => endpoint.hints = Some(hints.clone()),
                MeantFor::Names(names) => endpoint.hints = Some(Hints::Other(names)),
            }
        }
        Slice {
            endpoints,
            metadata: self.metadata,
            address_type: self.address_type,
            ports: self.ports,
        }
    }
}

impl<'a, E: EndpointSource> DraftEndpoint<'a, E> {
    /// An endpoint as it is wanted, without hints.
    #[must_use]
    #[inline]
    pub fn wanted(endpoint: E) -> Self {
        Self {
            source: Source::Wanted(endpoint),
            meant_for: MeantFor::Nobody,
        }
    }

    /// An endpoint as it is stored, without hints.
    #[must_use]
    #[inline]
    pub fn kept(endpoint: &'a Endpoint<E::Text>) -> Self {
        Self {
            source: Source::Kept(endpoint),
            meant_for: MeantFor::Nobody,
        }
    }

    /// Whether this is what becomes of a stored endpoint. One that stays as it is is known by its place.
    #[must_use]
    #[inline]
    pub fn is_from(&self, stored: &Endpoint<E::Text>) -> bool {
        match &self.source {
            Source::Wanted(wanted) => wanted.is_same_as(&stored),
            Source::Kept(kept) | Source::Whole(kept) => ptr::eq(*kept, stored),
        }
    }

    /// The endpoint, without hints.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    pub fn view(&self) -> EndpointRef<'_> {
        match &self.source {
            Source::Wanted(wanted) => wanted.view(),
            Source::Kept(kept) | Source::Whole(kept) => Endpoint::view(kept),
        }
    }

    /// For whom it is meant.
    #[must_use]
    #[inline]
    pub fn hints(&self) -> Option<HintsRef<'_>> {
        match &self.meant_for {
            MeantFor::Nobody => None,
            MeantFor::OwnZone => self.view().zone.map(HintsRef::Zone),
            MeantFor::Stored(hints) => Some(hints.view()),
            MeantFor::Names(names) => Some(HintsRef::Other(names)),
        }
    }

    /// Takes its hints away.
    #[inline]
    pub fn mean_for_nobody(&mut self) {
        self.meant_for = MeantFor::Nobody;
    }

    /// Means it for the zone that it is in.
    #[inline]
    pub fn mean_for_own_zone(&mut self) {
        self.meant_for = MeantFor::OwnZone;
    }

    /// Means it for these.
    #[inline]
    pub fn mean_for(&mut self, names: Arc<HintedNames>) {
        self.meant_for = MeantFor::Names(names);
    }

    fn deprecated_topology(&self) -> Option<&'a BTreeMap<String, String>> {
        match self.source {
            Source::Wanted(_) | Source::Kept(_) => None,
            Source::Whole(whole) => whole.deprecated_topology.as_deref(),
        }
    }
}

impl<E: EndpointSource> EndpointSource for &DraftEndpoint<'_, E> {
    type Text = E::Text;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn view(&self) -> EndpointRef<'_> {
        DraftEndpoint::view(self)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "so that only what is looked at is read")]
    fn object_at(&self) -> Option<*const ()> {
        match &self.source {
            Source::Wanted(wanted) => wanted.object_at(),
            Source::Kept(kept) | Source::Whole(kept) => kept.object_at(),
        }
    }

    #[inline]
    fn to_endpoint(&self) -> Endpoint<E::Text> {
        match &self.source {
            Source::Wanted(wanted) => wanted.to_endpoint(),
            Source::Kept(kept) | Source::Whole(kept) => kept.to_endpoint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_draft_is_written_as_the_slice_that_it_becomes() {
        let endpoint = |ip: &str| {
            json!({
                "addresses": [ip], "nodeName": "node", "targetRef": {"kind": "Pod", "name": ip, "uid": "1"},
                "hints": {"forZones": [{"name": "zone"}]}, "deprecatedTopology": {"old": "fact"},
            })
        };
        let slice: Slice = Slice::from(
            &serde_json::from_value(json!({
                "metadata": {"name": "web-a", "annotations": {"kept": "yes"}}, "addressType": "IPv4",
                "ports": [{"name": "http", "port": 80}],
                "endpoints": [endpoint("10.0.0.1"), endpoint("10.0.0.2"), endpoint("10.0.0.3")],
            }))
            .unwrap(),
        );
        let copy: Draft<'_, &Endpoint> = Draft::copy(&slice);
        assert_eq!(copy.clone().into_slice(), slice);
        assert_eq!(copy.into_api(), slice.to_api());

        let [a, b, c] = &slice.endpoints[..] else { panic!() };
        let changed = Endpoint {
            node_name: Some("other".into()),
            ..b.clone()
        };
        let endpoints = vec![DraftEndpoint::kept(a), DraftEndpoint::wanted(&changed)];
        assert!(
            endpoints[0].is_from(a) && endpoints[1].is_from(b) && !endpoints[0].is_from(c) && !endpoints[1].is_from(c)
        );
        let rewritten = Draft::rewrite(&slice, PortMapKey::new([]), endpoints);
        let expected = Slice {
            ports: PortMapKey::new([]),
            endpoints: vec![a.without_hints(), changed.without_hints()],
            ..slice.clone()
        };
        assert_eq!(rewritten.clone().into_slice(), expected);
        assert_eq!(rewritten.into_api(), expected.to_api());
    }

    #[test]
    fn hints_are_written_as_they_are_kept() {
        let endpoint = |zone: Option<&str>| Endpoint {
            zone: zone.map(Into::into),
            hints: Some(Hints::Zone("stored".into())),
            ..Endpoint::default()
        };
        let names = Arc::new(HintedNames {
            for_zones: vec!["c".into()],
            for_nodes: vec!["node".into()],
        });
        let slice: Slice = Slice {
            metadata: ObjectMeta::default(),
            address_type: Ok(AddressType::IPv4),
            ports: PortMapKey::new([]),
            endpoints: ["a", "b", "c", "d"]
                .map(|zone| endpoint(Some(zone)))
                .into_iter()
                .chain([endpoint(None)])
                .collect(),
        };
        let mut draft: Draft<'_, &Endpoint> = Draft::copy(&slice);
        let [nobody, own, given, _, homeless] = &mut draft.endpoints[..] else {
            panic!()
        };
        nobody.mean_for_nobody();
        own.mean_for_own_zone();
        given.mean_for(Arc::clone(&names));
        homeless.mean_for_own_zone();
        let hints = [
            None,
            Some(Hints::Zone("b".into())),
            Some(Hints::Other(names)),
            Some(Hints::Zone("stored".into())),
            None,
        ];
        assert!(
            draft
                .endpoints
                .iter()
                .map(DraftEndpoint::hints)
                .eq(hints.iter().map(|hints| Some(hints.as_ref()?.view())))
        );
        assert_eq!(draft.clone().into_slice().to_api(), draft.clone().into_api());
        assert_eq!(
            draft
                .into_slice()
                .endpoints
                .into_iter()
                .map(|endpoint| endpoint.hints)
                .collect::<Vec<_>>(),
            hints
        );
    }
}

package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	discovery "k8s.io/api/discovery/v1"
)

// Upstream walks maps in random order: which of several slices a new endpoint
// lands in, which slice of several is reused, and which name a slice keeps are
// free. Of all the answers that differ in nothing else, the canonical one is
// recorded; an answer that differs in more than that differs canonically too.

// slicePlace is one slice of an answer together with what it was before.
type slicePlace struct {
	before *discovery.EndpointSlice // nil: a new slice
	after  *discovery.EndpointSlice // nil: deleted
	// How many endpoints at the front of after were in before already.
	kept int
	// after was built from nothing, even when it takes over an old name.
	fresh bool
	// Upstream sends this slice: a create or an update.
	written bool
}

// places lines up an answer with the existing slices, in the order of names;
// new slices come last.
func places(existing []*discovery.EndpointSlice, a *answer, fresh func(before, after *discovery.EndpointSlice) bool) []*slicePlace {
	updates := map[string]*discovery.EndpointSlice{}
	for _, slice := range a.Updates {
		updates[slice.Name] = slice
	}
	all := []*slicePlace{}
	for _, before := range existing {
		place := &slicePlace{before: before, after: before.DeepCopy(), kept: len(before.Endpoints)}
		if after, ok := updates[before.Name]; ok {
			place.after, place.written = after, true
			place.fresh = fresh(before, after)
			place.kept = 0
			if !place.fresh {
				place.kept = keptInFront(before, after)
			}
		} else if slices.Contains(a.Deletes, before.Name) {
			place.after, place.kept = nil, 0
		}
		all = append(all, place)
	}
	slices.SortFunc(all, func(a, b *slicePlace) int { return strings.Compare(a.before.Name, b.before.Name) })
	for _, after := range a.Creates {
		all = append(all, &slicePlace{after: after, fresh: true, written: true})
	}
	return all
}

// keptInFront counts the endpoints that an update left where they were;
// upstream keeps those in front, and adds new ones behind.
func keptInFront(before, after *discovery.EndpointSlice) int {
	old := map[string]bool{}
	for i := range before.Endpoints {
		old[identity(&before.Endpoints[i])] = true
	}
	for i := range after.Endpoints {
		if !old[identity(&after.Endpoints[i])] {
			return i
		}
	}
	return len(after.Endpoints)
}

// identity is what makes two endpoints the same one for upstream.
func identity(endpoint *discovery.Endpoint) string {
	parts := []string{strings.Join(slices.Sorted(slices.Values(endpoint.Addresses)), ",")}
	if endpoint.Hostname != nil {
		parts = append(parts, "host", *endpoint.Hostname)
	}
	if endpoint.TargetRef != nil {
		parts = append(parts, "ref", endpoint.TargetRef.Namespace, endpoint.TargetRef.Name)
	}
	return strings.Join(parts, "|")
}

// answerOf turns places back into an answer, everything sorted.
func answerOf(all []*slicePlace, from *answer) *answer {
	a := newAnswer()
	a.Error, a.hintsPopulated = from.Error, from.hintsPopulated
	a.Events = append(a.Events, from.Events...)
	slices.SortFunc(a.Events, func(x, y event) int {
		return cmp.Or(strings.Compare(x.Type, y.Type), strings.Compare(x.Reason, y.Reason), strings.Compare(x.Message, y.Message))
	})
	for _, place := range all {
		switch {
		case place.after == nil:
			a.Deletes = append(a.Deletes, place.before.Name)
		case place.written && place.before == nil:
			a.Creates = append(a.Creates, place.after)
		case place.written:
			a.Updates = append(a.Updates, place.after)
		}
	}
	sortByContent(a.Creates)
	return a
}

func sortByContent(list []*discovery.EndpointSlice) {
	slices.SortFunc(list, func(a, b *discovery.EndpointSlice) int { return strings.Compare(content(a), content(b)) })
}

// content is a slice without its identity, so that copies are equal.
func content(slice *discovery.EndpointSlice) string {
	bare := slice.DeepCopy()
	bare.Name, bare.UID, bare.Generation = "", "", 0
	return asJSON(bare)
}

// renameTakeovers decides which of the slices that go away are taken over by
// fresh ones: per address type the first names, in the order of content.
func renameTakeovers(all []*slicePlace, mayTakeOver func(*discovery.EndpointSlice) bool) {
	type free struct{ from, contents []*discovery.EndpointSlice }
	byType := map[discovery.AddressType]*free{}
	at := func(addressType discovery.AddressType) *free {
		if byType[addressType] == nil {
			byType[addressType] = &free{}
		}
		return byType[addressType]
	}
	freed := func(place *slicePlace) bool {
		return place.before != nil && (place.fresh || place.after == nil && mayTakeOver(place.before))
	}
	for _, place := range all {
		if place.fresh {
			free := at(place.after.AddressType)
			free.contents = append(free.contents, place.after)
		}
	}
	for _, addressType := range slices.Sorted(maps.Keys(byType)) {
		contents := byType[addressType].contents
		sortByContent(contents)
		for _, place := range all {
			before := place.before == nil && place.after.AddressType == addressType ||
				freed(place) && place.before.AddressType == addressType
			if !before {
				continue
			}
			place.after, place.fresh, place.written = nil, false, false
			if len(contents) > 0 {
				place.after, place.fresh, place.written = contents[0].DeepCopy(), true, true
				place.after.Name = ""
				if place.before != nil {
					place.after.Name = place.before.Name
				}
				contents = contents[1:]
			}
		}
	}
}

// swapTwins lets existing slices that are copies of each other share their
// fates in a fixed order: those that stay before those that go.
func swapTwins(all []*slicePlace) {
	twins := map[string][]*slicePlace{}
	for _, place := range all {
		if place.before != nil {
			key := content(place.before)
			twins[key] = append(twins[key], place)
		}
	}
	rank := func(place slicePlace) string {
		switch {
		case place.after == nil:
			return "3"
		case place.written:
			return "2" + content(place.after)
		default:
			return "1"
		}
	}
	for _, same := range twins {
		fates := make([]slicePlace, 0, len(same))
		for _, place := range same {
			fates = append(fates, *place)
		}
		slices.SortStableFunc(fates, func(a, b slicePlace) int { return strings.Compare(rank(a), rank(b)) })
		for i, place := range same {
			before := place.before
			*place = fates[i]
			place.before = before
			if place.after != nil {
				place.after = place.after.DeepCopy()
				place.after.Name = before.Name
				if place.after.UID != "" {
					place.after.UID, place.after.Generation = before.UID, before.Generation
				}
			}
		}
	}
}

func samePorts(a, b *discovery.EndpointSlice) bool {
	return slices.Equal(sortedPorts(a), sortedPorts(b))
}

func byJSON(a, b discovery.Endpoint) int { return strings.Compare(asJSON(a), asJSON(b)) }

// sortedPorts lists ports in one order, whatever order they were written in.
func sortedPorts(slice *discovery.EndpointSlice) []string {
	ports := make([]string, 0, len(slice.Ports))
	for _, port := range slice.Ports {
		ports = append(ports, asJSON(port))
	}
	slices.Sort(ports)
	return ports
}

package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
)

// canonicalService: within a group (address type and ports), new endpoints go
// to the slices in a fixed order. Endpoints that stay are left where they are,
// and no slice changes its size, except that slices alike may swap theirs.
//
// Where upstream's choice shows in the answer, it is an error.
func canonicalService(s *step, a *answer) (*answer, error) {
	if familiesCompete(s.Service, a.Events) {
		return nil, errAmbiguous
	}
	all := places(s.ExistingSlices, a, func(_, after *discovery.EndpointSlice) bool {
		// Upstream updates a copy of the old slice, or takes its name only.
		return after.UID == ""
	})
	swapTwins(all)
	auto := wantsAutoHints(s.Service)
	groups := map[string][]*slicePlace{}
	for _, place := range all {
		if place.after != nil && ownedByService(place.after, s.Service) {
			key := string(place.after.AddressType) + strings.Join(sortedPorts(place.after), "")
			groups[key] = append(groups[key], place)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		if err := refill(groups[key], auto); err != nil {
			return nil, err
		}
	}
	if auto {
		sortHints(all)
	}
	renameTakeovers(all, func(slice *discovery.EndpointSlice) bool { return ownedByService(slice, s.Service) })
	return answerOf(all, a), nil
}

// familiesCompete: upstream takes the families of a service in random order,
// and the first one that gains or loses hints speaks for both. Only when both
// keep their hints, or neither gets any, does the order not matter.
func familiesCompete(service *corev1.Service, events []event) bool {
	families := map[corev1.IPFamily]bool{}
	for _, family := range service.Spec.IPFamilies {
		families[family] = true
	}
	headless := service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone
	if len(families) == 1 || len(families) == 0 && !headless {
		return false
	}
	refused := 0
	for _, event := range events {
		if event.Reason == "TopologyAwareHintsDisabled" {
			refused++
		}
	}
	return len(events) > 0 && refused != 2
}

func wantsAutoHints(service *corev1.Service) bool {
	value, ok := service.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	if !ok {
		value = service.Annotations[corev1.AnnotationTopologyMode]
	}
	return value == "Auto" || value == "auto"
}

// refill takes the new endpoints out of the slices of a group and puts them
// back sorted.
func refill(group []*slicePlace, auto bool) error {
	// Old slices first, by name; which names fresh ones have is random yet.
	slices.SortStableFunc(group, func(a, b *slicePlace) int {
		switch {
		case a.fresh == b.fresh:
			return 0
		case b.fresh:
			return -1
		default:
			return 1
		}
	})
	added := map[*slicePlace]int{}
	newcomers := []discovery.Endpoint{}
	for _, place := range group {
		added[place] = len(place.after.Endpoints) - place.kept
		newcomers = append(newcomers, place.after.Endpoints[place.kept:]...)
	}
	slices.SortStableFunc(newcomers, byJSON)
	for _, alike := range alikes(group) {
		if err := swapSizes(alike, added, auto); err != nil {
			return err
		}
	}
	for _, place := range group {
		place.after.Endpoints = place.after.Endpoints[:place.kept:place.kept]
		place.after.Endpoints = append(place.after.Endpoints, newcomers[:added[place]]...)
		newcomers = newcomers[added[place]:]
	}
	return nil
}

// alikes are the slices of which upstream picks any: equally full ones, those
// that it writes anyway apart from those that it need not touch.
func alikes(group []*slicePlace) [][]*slicePlace {
	type likeness struct {
		fresh, touched bool
		kept           int
	}
	byLikeness := map[likeness][]*slicePlace{}
	for _, place := range group {
		like := likeness{fresh: place.fresh, touched: place.fresh || touched(place), kept: place.kept}
		byLikeness[like] = append(byLikeness[like], place)
	}
	return slices.Collect(maps.Values(byLikeness))
}

// touched reports whether a slice would be written without any new endpoint.
func touched(place *slicePlace) bool {
	if !place.written {
		return false
	}
	if len(place.before.Endpoints) != place.kept || !maps.Equal(place.before.Labels, place.after.Labels) {
		return true
	}
	for i := range place.kept {
		if asJSON(withoutHints(place.before.Endpoints[i])) != asJSON(withoutHints(place.after.Endpoints[i])) {
			return true
		}
	}
	return false
}

func withoutHints(endpoint discovery.Endpoint) discovery.Endpoint {
	endpoint.Hints = nil
	return endpoint
}

// swapSizes gives the most new endpoints to the first of slices that are alike.
func swapSizes(alike []*slicePlace, added map[*slicePlace]int, auto bool) error {
	counts := make([]int, 0, len(alike))
	var filled *slicePlace
	for _, place := range alike {
		counts = append(counts, added[place])
		if added[place] > 0 {
			filled = place
		}
	}
	if filled == nil {
		return nil
	}
	if !filled.fresh && !touched(filled) && !sameMetadata(alike, auto) {
		return errAmbiguous
	}
	annotations := filled.after.Annotations
	slices.SortFunc(counts, func(a, b int) int { return cmp.Compare(b, a) })
	for i, place := range alike {
		added[place] = counts[i]
		if place.fresh || touched(place) {
			continue
		}
		kept := place.after.Endpoints[:place.kept]
		switch {
		case counts[i] > 0 && !place.written:
			place.written = true
			place.after.Annotations = maps.Clone(annotations)
		case counts[i] == 0 && place.written && asJSON(kept) == asJSON(place.before.Endpoints):
			place.written = false
			place.after = place.before.DeepCopy()
		}
	}
	return nil
}

// sameMetadata: filling one slice that was not to be touched or another one
// leaves the same set of annotations behind. With hints by topology it does
// not come to the same, because the hints in it weigh on those of the rest.
func sameMetadata(alike []*slicePlace, auto bool) bool {
	for _, place := range alike[1:] {
		first, other := alike[0].before.DeepCopy(), place.before.DeepCopy()
		first.Endpoints, other.Endpoints = nil, nil
		if auto || content(first) != content(other) {
			return false
		}
	}
	return true
}

// sortHints hands out the hints of each zone's endpoints again: which endpoint
// serves another zone is random, how many do is not. Own zone first.
func sortHints(all []*slicePlace) {
	type key struct {
		addressType discovery.AddressType
		zone        string
	}
	hinted := map[key][]*discovery.Endpoint{}
	for _, place := range all {
		if !place.written {
			continue
		}
		for i := range place.after.Endpoints {
			endpoint := &place.after.Endpoints[i]
			if endpoint.Hints != nil && endpoint.Zone != nil {
				at := key{place.after.AddressType, *endpoint.Zone}
				hinted[at] = append(hinted[at], endpoint)
			}
		}
	}
	for at, endpoints := range hinted {
		own := asJSON(&discovery.EndpointHints{ForZones: []discovery.ForZone{{Name: at.zone}}})
		slices.SortStableFunc(endpoints, func(a, b *discovery.Endpoint) int {
			return strings.Compare(asJSON(withoutHints(*a)), asJSON(withoutHints(*b)))
		})
		hints := []*discovery.EndpointHints{}
		for _, endpoint := range endpoints {
			hints = append(hints, endpoint.Hints)
		}
		slices.SortStableFunc(hints, func(a, b *discovery.EndpointHints) int {
			x, y := asJSON(a), asJSON(b)
			if (x == own) != (y == own) {
				if x == own {
					return -1
				}
				return 1
			}
			return strings.Compare(x, y)
		})
		for i, endpoint := range endpoints {
			endpoint.Hints = hints[i]
		}
	}
}

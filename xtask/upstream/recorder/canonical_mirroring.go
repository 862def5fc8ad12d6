package main

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	endpointsv1 "k8s.io/kubernetes/pkg/api/v1/endpoints"
)

// canonicalMirroring: a mirrored slice is written as a whole, in random order.
//
// Where upstream's choice shows in the answer, it is an error.
func canonicalMirroring(s *step, a *answer, maximum int32) (*answer, error) {
	all := places(s.ExistingSlices, a, portsDiffer)
	if a.Error != "" || recyclesBothFamilies(all) || drawsLots(s.Endpoints, maximum) {
		return nil, errAmbiguous
	}
	for _, place := range all {
		if place.written {
			slices.SortStableFunc(place.after.Endpoints, byJSON)
		}
	}
	swapTwins(all)
	rewriteFirst(all)
	renameTakeovers(all, func(*discovery.EndpointSlice) bool { return true })
	return answerOf(all, a), nil
}

// portsDiffer identifies a mirrored slice that took over an old one: those that
// upstream rewrites for the same ports keep them.
func portsDiffer(before, after *discovery.EndpointSlice) bool { return !samePorts(before, after) }

// recyclesBothFamilies: there are fresh slices of two address types, and at
// least one of them takes over an old one. Which of its creates upstream
// forgets then, and whether it tries to create a slice that is there, is up to
// the order of a map. That is also the only way in which it can fail here.
func recyclesBothFamilies(all []*slicePlace) bool {
	types, recycled := map[discovery.AddressType]bool{}, false
	for _, place := range all {
		if place.fresh {
			types[place.after.AddressType] = true
			recycled = recycled || place.before != nil
		}
	}
	return recycled && len(types) > 1
}

// drawsLots: upstream compares ports with an appProtocol by the address of
// that string in memory. Subsets of equal ports then stay apart, each with the
// maximum for itself, and fall together again later: what is too much goes at
// random.
func drawsLots(endpoints *corev1.Endpoints, maximum int32) bool {
	if endpoints == nil {
		return false
	}
	addresses, subsets := map[string]int{}, map[string]int{}
	for _, subset := range endpointsv1.RepackSubsets(endpoints.DeepCopy().Subsets) {
		ports := make([]string, 0, len(subset.Ports))
		for _, port := range subset.Ports {
			ports = append(ports, asJSON(port))
		}
		slices.Sort(ports)
		key := asJSON(ports)
		subsets[key]++
		addresses[key] += len(subset.Addresses) + len(subset.NotReadyAddresses)
		if subsets[key] > 1 && addresses[key] > int(maximum) {
			return true
		}
	}
	return false
}

// rewriteFirst: of several slices for the same ports upstream rewrites the one
// that it lists first, from nothing, and the others go.
func rewriteFirst(all []*slicePlace) {
	for i, place := range all {
		if place.before == nil || place.fresh || !place.written {
			continue
		}
		for _, other := range all[:i] {
			gone := other.before != nil && (other.fresh || other.after == nil)
			if gone && other.before.AddressType == place.before.AddressType && samePorts(other.before, place.before) {
				fate := *place
				place.after, place.fresh, place.written = other.after, other.fresh, other.written
				other.after, other.fresh, other.written = fate.after, fate.fresh, fate.written
				other.after.Name = other.before.Name
				break
			}
		}
	}
}

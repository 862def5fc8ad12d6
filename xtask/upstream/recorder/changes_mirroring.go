package main

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// change applies one random change and returns its description.
func (w *mirroringWorld) change() string {
	if w.endpoints == nil {
		w.newEndpoints()
		return "endpoints created again"
	}
	happened := []string{}
	if w.service.Spec.Selector != nil && w.percent(60) {
		happened = append(happened, w.selectorChanges())
	}
	for range pick(w.dice, 1, 1, 1, 2, 2) {
		if w.endpoints == nil {
			break
		}
		happened = append(happened, pickWeighted(w.dice, w.changes())())
	}
	return strings.Join(happened, "; ")
}

func (w *mirroringWorld) changes() []weighted[func() string] {
	manual := hand{dice: w.dice, store: w.store, service: w.service.Name, managedBy: mirroringController}
	return []weighted[func() string]{
		{4, func() string { return "nothing" }},
		{8, w.replaceSubsets}, {8, w.addSubset}, {6, w.removeSubset}, {3, w.reorder}, {2, w.empty},
		{10, w.changeAddresses}, {6, w.swapReadiness}, {10, w.changePorts}, {4, w.editAddress},
		{5, w.relabel}, {5, w.reannotate}, {2, w.deleteEndpoints}, {3, w.recreate}, {1, w.startDeleting},
		{2, w.selectorChanges}, {14, manual.edit},
	}
}

func (w *mirroringWorld) replaceSubsets() string {
	w.setSubsets()
	return "subsets replaced"
}

func (w *mirroringWorld) addSubset() string {
	subset := w.subset()
	if len(w.endpoints.Subsets) > 0 && w.percent(40) {
		// Two subsets of the same ports are one after repacking.
		subset.Ports = w.aSubset().DeepCopy().Ports
	}
	w.endpoints.Subsets = append(w.endpoints.Subsets, subset)
	return "subset added"
}

func (w *mirroringWorld) removeSubset() string {
	if len(w.endpoints.Subsets) > 0 {
		at := w.IntN(len(w.endpoints.Subsets))
		w.endpoints.Subsets = append(w.endpoints.Subsets[:at:at], w.endpoints.Subsets[at+1:]...)
	}
	return "subset removed"
}

func (w *mirroringWorld) reorder() string {
	subsets := w.endpoints.Subsets
	w.Shuffle(len(subsets), func(i, j int) { subsets[i], subsets[j] = subsets[j], subsets[i] })
	for i := range subsets {
		ports, addresses := subsets[i].Ports, subsets[i].Addresses
		w.Shuffle(len(ports), func(i, j int) { ports[i], ports[j] = ports[j], ports[i] })
		w.Shuffle(len(addresses), func(i, j int) { addresses[i], addresses[j] = addresses[j], addresses[i] })
	}
	return "subsets written in another order"
}

func (w *mirroringWorld) empty() string {
	w.endpoints.Subsets = nil
	return "no subsets"
}

// aSubset may be a new one, when there is none.
func (w *mirroringWorld) aSubset() *corev1.EndpointSubset {
	if len(w.endpoints.Subsets) == 0 {
		w.endpoints.Subsets = []corev1.EndpointSubset{w.subset()}
	}
	return &w.endpoints.Subsets[w.IntN(len(w.endpoints.Subsets))]
}

func (w *mirroringWorld) changeAddresses() string {
	subset := w.aSubset()
	removed, added := 0, pick(w.dice, 0, 1, 2, 5)
	for range pick(w.dice, 0, 1, 2) {
		if len(subset.Addresses) > 0 {
			at := w.IntN(len(subset.Addresses))
			subset.Addresses = append(subset.Addresses[:at:at], subset.Addresses[at+1:]...)
			removed++
		}
	}
	for range added {
		subset.Addresses = append(subset.Addresses, w.address())
	}
	return fmt.Sprintf("addresses changed (%d removed, %d added)", removed, added)
}

func (w *mirroringWorld) swapReadiness() string {
	subset := w.aSubset()
	subset.Addresses, subset.NotReadyAddresses = subset.NotReadyAddresses, subset.Addresses
	return "readiness of a subset swapped"
}

func (w *mirroringWorld) changePorts() string {
	subset := w.aSubset()
	switch {
	case len(subset.Ports) == 0 || w.percent(25):
		subset.Ports = w.ports()
		return "ports of a subset replaced"
	case w.percent(30):
		subset.Ports = append(subset.Ports, w.port(len(subset.Ports)))
		return "port added to a subset"
	default:
		subset.Ports[w.IntN(len(subset.Ports))].Port += 1000
		return "port number of a subset changed"
	}
}

func (w *mirroringWorld) editAddress() string {
	subset := w.aSubset()
	if len(subset.Addresses) > 0 {
		address := &subset.Addresses[w.IntN(len(subset.Addresses))]
		again := w.address()
		again.IP = address.IP
		*address = again
	}
	return "target, node or hostname of an address changed"
}

func (w *mirroringWorld) relabel() string {
	if w.percent(25) {
		w.endpoints.Labels = nil
	} else {
		w.setLabels()
	}
	return "labels of the endpoints changed"
}

func (w *mirroringWorld) reannotate() string {
	if w.percent(25) {
		w.endpoints.Annotations = nil
	} else {
		w.setAnnotations()
	}
	return "annotations of the endpoints changed"
}

func (w *mirroringWorld) deleteEndpoints() string {
	w.endpoints = nil
	return "endpoints deleted"
}

func (w *mirroringWorld) recreate() string {
	if w.percent(50) {
		w.newEndpoints()
		return "endpoints recreated with other content"
	}
	w.uidNumber++
	w.endpoints.UID = types.UID(fmt.Sprintf("ep-uid-%d", w.uidNumber))
	return "endpoints recreated"
}

func (w *mirroringWorld) startDeleting() string {
	w.endpoints.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)}
	w.endpoints.Finalizers = []string{"example.com/hold"}
	return "endpoints are being deleted"
}

func (w *mirroringWorld) selectorChanges() string {
	if w.service.Spec.Selector == nil {
		w.service.Spec.Selector = map[string]string{"app": "web"}
		return "service given a selector"
	}
	w.service.Spec.Selector = nil
	return "selector of the service removed"
}

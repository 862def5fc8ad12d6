package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
)

// mirroringWorld is the cluster of a mirroring chain: a service, the Endpoints
// of its name, and the slices mirrored from them.
type mirroringWorld struct {
	dice
	service   *corev1.Service
	endpoints *corev1.Endpoints // nil: deleted
	store     *store
	maximum   int32
	uidNumber int
	// How many of a hundred addresses are IPv6.
	shareIPv6 int
}

func newMirroringWorld(d dice) *mirroringWorld {
	w := &mirroringWorld{dice: d, store: &store{}}
	w.maximum = int32(pick(d, 2, 3, 3, 4, 5, 5, 7, 10, 10, 1000))
	w.shareIPv6 = pick(d, 0, 0, 30, 30, 50, 100)
	name := pick(d, "legacy-db", "ext", longest)
	w.service = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: "svc-uid-1"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	w.newEndpoints()
	return w
}

func (w *mirroringWorld) newEndpoints() {
	w.uidNumber++
	w.endpoints = &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
		Name: w.service.Name, Namespace: namespace, UID: types.UID(fmt.Sprintf("ep-uid-%d", w.uidNumber)),
	}}
	w.setSubsets()
	if w.percent(45) {
		w.setLabels()
	}
	if w.percent(45) {
		w.setAnnotations()
	}
}

func (w *mirroringWorld) setLabels() {
	labels := map[string]string{"team": pick(w.dice, "net", "storage", "")}
	if w.percent(30) {
		labels[corev1.IsHeadlessService] = ""
	}
	if w.percent(10) {
		// Labels that belong to the controller of the slices.
		labels[pick(w.dice, discovery.LabelServiceName, discovery.LabelManagedBy)] = "someone-else"
	}
	if w.percent(12) {
		labels[discovery.LabelSkipMirror] = pick(w.dice, "true", "false", "True", "")
	}
	w.endpoints.Labels = labels
}

func (w *mirroringWorld) setAnnotations() {
	annotations := map[string]string{"example.com/note": pick(w.dice, "a", "b", "")}
	if w.percent(40) {
		annotations[corev1.EndpointsLastChangeTriggerTime] = pick(w.dice, "2026-01-01T00:00:00Z", "2026-01-01T00:00:01.5Z")
	}
	if w.percent(30) {
		annotations[corev1.LastAppliedConfigAnnotation] = pick(w.dice, "{}", `{"kind":"Endpoints"}`)
	}
	if w.percent(15) {
		annotations[corev1.EndpointsOverCapacity] = "truncated"
	}
	if w.percent(6) {
		annotations[resourcelock.LeaderElectionRecordAnnotationKey] = pick(w.dice, "", "{}")
	}
	w.endpoints.Annotations = annotations
}

func (w *mirroringWorld) setSubsets() {
	w.endpoints.Subsets = nil
	for range pick(w.dice, 0, 1, 1, 1, 2, 2, 3, 4, 6) {
		w.endpoints.Subsets = append(w.endpoints.Subsets, w.subset())
	}
}

func (w *mirroringWorld) subset() corev1.EndpointSubset {
	subset := corev1.EndpointSubset{Ports: w.ports()}
	for range pick(w.dice, 0, 1, 2, 3, 4, 6, 9) {
		subset.Addresses = append(subset.Addresses, w.address())
	}
	for range pick(w.dice, 0, 0, 1, 2, 4) {
		subset.NotReadyAddresses = append(subset.NotReadyAddresses, w.address())
	}
	if len(subset.Addresses) > 0 && w.percent(15) {
		// The same address ready and not ready.
		subset.NotReadyAddresses = append(subset.NotReadyAddresses, subset.Addresses[w.IntN(len(subset.Addresses))])
	}
	return subset
}

func (w *mirroringWorld) ports() []corev1.EndpointPort {
	ports := []corev1.EndpointPort{}
	for i := range pick(w.dice, 0, 1, 1, 1, 2, 2, 3) {
		ports = append(ports, w.port(i))
	}
	if len(ports) > 0 && w.percent(8) {
		ports = append(ports, ports[w.IntN(len(ports))])
	}
	return ports
}

func (w *mirroringWorld) port(i int) corev1.EndpointPort {
	return corev1.EndpointPort{
		Name:     pickWeighted(w.dice, []weighted[string]{{12, fmt.Sprintf("p%d", i)}, {1, "p0"}, {1, ""}}),
		Port:     int32(80 + w.IntN(3)),
		Protocol: pick(w.dice, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
		AppProtocol: pickWeighted(w.dice, []weighted[*string]{
			{36, nil}, {2, ptr.To("http")}, {1, ptr.To("")},
		}),
	}
}

// address draws from so few that subsets overlap; some are written unusually
// and some are no addresses at all.
func (w *mirroringWorld) address() corev1.EndpointAddress {
	number := w.between(1, 24)
	ip := fmt.Sprintf("10.9.0.%d", number)
	if w.percent(w.shareIPv6) {
		ip = fmt.Sprintf("fd00:9::%x", number)
	}
	if w.percent(7) {
		ip = pick(w.dice, fmt.Sprintf("010.009.000.%03d", number), fmt.Sprintf("::ffff:10.9.0.%d", number))
		if w.percent(w.shareIPv6) {
			ip = pick(w.dice, fmt.Sprintf("FD00:0009:0:0::%X", number), fmt.Sprintf("fd00:9:0:0:0:0:0:%x", number))
		}
	}
	if w.percent(4) {
		ip = pick(w.dice, "", "nonsense", "10.9.0.256", "10.9.0", "fe80::1%eth0", "10.9.0.1/32", " 10.9.0.1")
	}
	address := corev1.EndpointAddress{IP: ip}
	if w.percent(15) {
		address.Hostname = fmt.Sprintf("h%d", w.IntN(3))
	}
	if w.percent(30) {
		address.NodeName = ptr.To(fmt.Sprintf("node-%d", w.IntN(4)))
	}
	if w.percent(40) {
		address.TargetRef = &corev1.ObjectReference{
			Kind: pick(w.dice, "Pod", "Pod", "Node"), Namespace: namespace,
			Name: fmt.Sprintf("ext-%d", number), UID: types.UID(fmt.Sprintf("u-%d", number+100*w.IntN(2))),
			ResourceVersion: pick(w.dice, "", "", "7", "8"),
		}
	}
	return address
}

// step is the input of the next sync.
func (w *mirroringWorld) step(change string) *step {
	s := &step{Change: change, Service: w.service.DeepCopy(), ExistingSlices: w.store.list(w.service.Name, mirroringController)}
	if w.endpoints != nil {
		s.Endpoints = w.endpoints.DeepCopy()
	}
	return s
}

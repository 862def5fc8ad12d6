package main

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const namespace = "demo"

// longest is a service name as long as a label value may be.
var longest = "svc-" + strings.Repeat("x", 58) + "y"

// serviceWorld is the cluster of a service chain, as far as the controller
// sees it: the service, the pods it selects, the nodes and its slices.
type serviceWorld struct {
	dice
	service *corev1.Service
	pods    []*corev1.Pod
	nodes   []*corev1.Node
	store   *store
	maximum int32

	podNumber, nodeNumber, uidNumber int
	// Rolled out with new pods: it decides which ports their containers have.
	template int
	// Nearly all pods are ready and on known nodes with zones, so that hints
	// by topology have a chance.
	tame bool
	// Pods carry addresses that no kubelet reports.
	oddAddresses bool
	// Every step has another trigger time, or none.
	ticking bool
	steps   int
}

func newServiceWorld(d dice) *serviceWorld {
	w := &serviceWorld{dice: d, store: &store{}}
	w.maximum = int32(pick(d, 3, 3, 4, 5, 5, 6, 7, 8, 10, 10, 1, 2, 100))
	w.tame = d.percent(35)
	w.oddAddresses = d.percent(6)
	w.ticking = d.percent(30)
	w.template = d.IntN(1000)
	w.newService(pick(d, "web", "db", "a", longest))
	if w.tame && d.percent(70) {
		w.setHints()
	}
	if wantsAutoHints(w.service) && d.percent(80) {
		// Of two families, either one may be the first to report hints.
		w.service.Spec.IPFamilies = []corev1.IPFamily{pick(d, corev1.IPv4Protocol, corev1.IPv6Protocol)}
	}
	for range d.between(1, 7) {
		w.addNode()
	}
	if w.tame {
		for range 4 {
			w.addNode()
		}
	}
	for range d.pods() {
		w.addPod()
	}
	return w
}

// pods is how many pods a chain starts with.
func (d dice) pods() int {
	return pickWeighted(d, []weighted[int]{
		{1, 0}, {2, d.between(1, 3)}, {5, d.between(3, 12)}, {4, d.between(10, 25)}, {1, d.between(25, 45)},
	})
}

func (w *serviceWorld) newUID(kind string) types.UID {
	w.uidNumber++
	return types.UID(fmt.Sprintf("%s-uid-%d", kind, w.uidNumber))
}

func (w *serviceWorld) newService(name string) {
	w.service = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, UID: w.newUID("svc")},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	}
	w.setFamilies()
	w.service.Spec.Ports = w.servicePorts()
	if w.percent(50) {
		w.service.Labels = w.labels()
	}
	w.service.Spec.PublishNotReadyAddresses = w.percent(12)
	if w.percent(35) {
		w.setHints()
	}
	if w.percent(30) {
		w.setAnnotation()
	}
}

// setFamilies also decides between a cluster IP and a headless service.
func (w *serviceWorld) setFamilies() {
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	w.service.Spec.IPFamilies = pickWeighted(w.dice, []weighted[[]corev1.IPFamily]{
		{4, []corev1.IPFamily{v4}}, {2, []corev1.IPFamily{v6}}, {4, []corev1.IPFamily{v4, v6}},
		{3, []corev1.IPFamily{v6, v4}}, {2, nil},
	})
	address := pick(w.dice, "10.0.0.10", "fd00::10")
	if len(w.service.Spec.IPFamilies) > 0 {
		address = map[corev1.IPFamily]string{v4: "10.0.0.10", v6: "fd00::10"}[w.service.Spec.IPFamilies[0]]
	}
	w.service.Spec.ClusterIP = pickWeighted(w.dice, []weighted[string]{
		{7, address}, {3, corev1.ClusterIPNone}, {1, ""},
	})
}

func (w *serviceWorld) labels() map[string]string {
	labels := map[string]string{"team": pick(w.dice, "net", "storage", "")}
	if w.percent(30) {
		labels["example.com/tier"] = pick(w.dice, "front", "back")
	}
	if w.percent(15) {
		// Labels that belong to the controller.
		key := pick(w.dice, corev1.IsHeadlessService, discovery.LabelManagedBy, discovery.LabelServiceName)
		labels[key] = pick(w.dice, "", "yes", "someone-else")
	}
	return labels
}

// setHints picks one of the ways to ask for hints, or both, or none.
func (w *serviceWorld) setHints() {
	distribution := pick(w.dice, corev1.ServiceTrafficDistributionPreferClose,
		corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode, "PreferMars")
	delete(w.service.Annotations, corev1.AnnotationTopologyMode)
	delete(w.service.Annotations, corev1.DeprecatedAnnotationTopologyAwareHints)
	w.service.Spec.TrafficDistribution = nil
	way := w.IntN(10)
	if way < 5 || way == 9 {
		key := pick(w.dice, corev1.AnnotationTopologyMode, corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints)
		w.annotate(key, pickWeighted(w.dice, []weighted[string]{{6, "Auto"}, {2, "auto"}, {1, "Disabled"}, {1, "AUTO"}}))
	}
	if way >= 5 && way < 8 || way == 9 {
		w.service.Spec.TrafficDistribution = &distribution
	}
}

func (w *serviceWorld) annotate(key, value string) {
	if w.service.Annotations == nil {
		w.service.Annotations = map[string]string{}
	}
	w.service.Annotations[key] = value
}

func (w *serviceWorld) setAnnotation() {
	key := pick(w.dice, "example.com/note", corev1.EndpointsLastChangeTriggerTime, corev1.LastAppliedConfigAnnotation)
	w.annotate(key, pick(w.dice, "a", "b", "2020-02-02T02:02:02Z"))
}

// step is the input of the next reconciliation.
func (w *serviceWorld) step(change string) *step {
	s := &step{Change: change, Service: w.service.DeepCopy(), ExistingSlices: w.store.list(w.service.Name, serviceController)}
	for _, pod := range w.pods {
		s.Pods = append(s.Pods, pod.DeepCopy())
	}
	for _, node := range w.nodes {
		s.Nodes = append(s.Nodes, node.DeepCopy())
	}
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	if w.ticking {
		at = at.Add(time.Duration(w.steps)*time.Second + pick(w.dice, 0, 120*time.Millisecond, 7))
	}
	if !w.ticking || w.percent(85) {
		s.TriggerTime = &at
	}
	w.steps++
	return s
}

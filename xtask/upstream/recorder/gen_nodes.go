package main

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (w *serviceWorld) addNode() {
	w.nodeNumber++
	name := fmt.Sprintf("node-%d", w.nodeNumber)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	w.setZone(node)
	w.setCPU(node)
	setNodeReady(node, w.tame || w.percent(92))
	if w.percent(4) {
		node.Labels["node-role.kubernetes.io/"+pick(w.dice, "control-plane", "master")] = ""
	}
	w.nodes = append(w.nodes, node)
}

// setZone: tame chains spread over their zones evenly.
func (w *serviceWorld) setZone(node *corev1.Node) {
	zones := []string{"zone-a", "zone-b", "zone-c"}
	if w.tame {
		node.Labels[corev1.LabelTopologyZone] = zones[w.nodeNumber%pick(w.dice, 2, 3, 3, 3)]
		return
	}
	switch {
	case w.percent(85):
		node.Labels[corev1.LabelTopologyZone] = pick(w.dice, zones...)
	case w.percent(50):
		node.Labels[corev1.LabelTopologyZone] = ""
	default:
		delete(node.Labels, corev1.LabelTopologyZone)
	}
}

func (w *serviceWorld) setCPU(node *corev1.Node) {
	if !w.tame && w.percent(6) {
		node.Status.Allocatable = nil
		return
	}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(pick(w.dice, "4", "4", "4", "2", "3500m", "8"))}
}

func setNodeReady(node *corev1.Node, ready bool) {
	status := corev1.ConditionTrue
	if !ready {
		status = corev1.ConditionFalse
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}
}

// aNode may be a new one, when there is none.
func (w *serviceWorld) aNode() *corev1.Node {
	if len(w.nodes) == 0 {
		w.addNode()
	}
	return w.nodes[w.IntN(len(w.nodes))]
}

func (w *serviceWorld) nodeAdded() string {
	w.addNode()
	return fmt.Sprintf("node node-%d added", w.nodeNumber)
}

func (w *serviceWorld) nodeVanishes() string {
	name := w.aNode().Name
	w.keepNodes(func(node *corev1.Node) bool { return node.Name != name })
	return fmt.Sprintf("node %s vanished", name)
}

func (w *serviceWorld) zoneVanishes() string {
	zone := w.aNode().Labels[corev1.LabelTopologyZone]
	w.keepNodes(func(node *corev1.Node) bool { return node.Labels[corev1.LabelTopologyZone] != zone })
	if w.percent(70) {
		w.collectLostPods()
		return fmt.Sprintf("zone %q vanished with its pods", zone)
	}
	return fmt.Sprintf("zone %q vanished, its pods are still listed", zone)
}

// collectLostPods removes the pods on nodes that do not exist, and returns
// whether there were any.
func (w *serviceWorld) collectLostPods() bool {
	known := newNodeLister(w.nodes)
	before := len(w.pods)
	w.pods = slices.DeleteFunc(w.pods, func(pod *corev1.Pod) bool {
		_, err := known.Get(pod.Spec.NodeName)
		return err != nil
	})
	return len(w.pods) < before
}

func (w *serviceWorld) keepNodes(keep func(*corev1.Node) bool) {
	left := []*corev1.Node{}
	for _, node := range w.nodes {
		if keep(node) {
			left = append(left, node)
		}
	}
	w.nodes = left
}

func (w *serviceWorld) nodeRezoned() string {
	node := w.aNode()
	node.Labels[corev1.LabelTopologyZone] = pick(w.dice, "zone-a", "zone-b", "zone-c", "zone-d")
	return fmt.Sprintf("node %s moved to %s", node.Name, node.Labels[corev1.LabelTopologyZone])
}

func (w *serviceWorld) nodeLosesZone() string {
	node := w.aNode()
	delete(node.Labels, corev1.LabelTopologyZone)
	return fmt.Sprintf("node %s lost its zone", node.Name)
}

func (w *serviceWorld) nodeReadinessChanges() string {
	node := w.aNode()
	ready := w.percent(50)
	setNodeReady(node, ready)
	return fmt.Sprintf("node %s reports ready=%t", node.Name, ready)
}

func (w *serviceWorld) nodeResized() string {
	node := w.aNode()
	w.setCPU(node)
	return fmt.Sprintf("node %s has other CPUs", node.Name)
}

package main

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// change applies one random change and returns its description.
func (w *serviceWorld) change() string {
	happened := []string{}
	if w.percent(60) && w.collectLostPods() {
		happened = append(happened, "pods on unknown nodes removed")
	}
	for range pick(w.dice, 1, 1, 1, 2, 2, 3) {
		happened = append(happened, pickWeighted(w.dice, w.changes())())
	}
	return strings.Join(happened, "; ")
}

func (w *serviceWorld) changes() []weighted[func() string] {
	manual := hand{dice: w.dice, store: w.store, service: w.service.Name, managedBy: serviceController}
	return []weighted[func() string]{
		{5, func() string { return "nothing" }},
		{12, w.addPods}, {9, w.removePods}, {2, w.removeEveryPod}, {5, w.recreatePods}, {7, w.rollPods},
		{9, w.flipReadiness}, {6, w.terminatePods}, {3, w.finishPods}, {4, w.readdressPods}, {2, w.reorderPods},
		{7, w.changePort}, {5, w.relabelService}, {3, w.annotateService}, {3, w.flipPublish}, {6, w.rehint},
		{4, w.refamily}, {3, w.recreateService}, {1, w.deleteService},
		{3, w.nodeAdded}, {3, w.nodeVanishes}, {2, w.zoneVanishes}, {3, w.nodeRezoned}, {1, w.nodeLosesZone},
		{2, w.nodeReadinessChanges}, {2, w.nodeResized},
		{16, manual.edit},
	}
}

func (w *serviceWorld) relabelService() string {
	w.service.Labels = pick(w.dice, w.labels(), w.labels(), nil)
	return "labels of the service changed"
}

func (w *serviceWorld) annotateService() string {
	w.setAnnotation()
	return "annotation of the service changed"
}

func (w *serviceWorld) flipPublish() string {
	w.service.Spec.PublishNotReadyAddresses = !w.service.Spec.PublishNotReadyAddresses
	return "publishNotReadyAddresses flipped"
}

func (w *serviceWorld) rehint() string {
	w.setHints()
	return "topology mode or trafficDistribution changed"
}

func (w *serviceWorld) refamily() string {
	w.setFamilies()
	return "families or cluster IP changed"
}

func (w *serviceWorld) recreateService() string {
	name := w.service.Name
	if w.percent(50) {
		w.newService(name)
		return "service recreated with another spec"
	}
	w.service.UID = w.newUID("svc")
	w.service.DeletionTimestamp, w.service.Finalizers = nil, nil
	return "service recreated"
}

func (w *serviceWorld) deleteService() string {
	w.service.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)}
	w.service.Finalizers = []string{"example.com/hold"}
	return "service is being deleted"
}

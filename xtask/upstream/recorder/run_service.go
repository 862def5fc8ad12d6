package main

import (
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/endpointslice"
	"k8s.io/endpointslice/topologycache"
	endpointsliceutil "k8s.io/endpointslice/util"
)

const serviceController = "endpointslice-controller.k8s.io"

// nodeLister answers from a map what upstream asks of its node informer.
type nodeLister struct{ byName map[string]*corev1.Node }

func newNodeLister(nodes []*corev1.Node) nodeLister {
	byName := make(map[string]*corev1.Node, len(nodes))
	for _, node := range nodes {
		byName[node.Name] = node
	}
	return nodeLister{byName: byName}
}

func (n nodeLister) Get(name string) (*corev1.Node, error) {
	if node, ok := n.byName[name]; ok {
		return node, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

func (n nodeLister) List(labels.Selector) ([]*corev1.Node, error) {
	return nil, fmt.Errorf("the reconciler asks for nodes by name only")
}

var _ corelisters.NodeLister = nodeLister{}

// eventLog is the event recorder of the service reconciler.
type eventLog struct{ writes writes }

func (l eventLog) Event(object runtime.Object, kind, reason, message string) {
	about := corev1.ObjectReference{}
	if service, ok := object.(*corev1.Service); ok {
		about.Name = service.Name
	}
	l.writes.event(&corev1.Event{InvolvedObject: about, Type: kind, Reason: reason, Message: message})
}

func (l eventLog) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	l.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

func (l eventLog) AnnotatedEventf(object runtime.Object, _ map[string]string, kind, reason, format string, args ...any) {
	l.Eventf(object, kind, reason, format, args...)
}

func newServiceReconciler(sink writes, nodes []*corev1.Node, maximum int32, cache *topologycache.TopologyCache) *endpointslice.Reconciler {
	return endpointslice.NewReconciler(
		apiServer{writes: sink},
		newNodeLister(nodes),
		maximum,
		endpointsliceutil.NewEndpointSliceTracker(),
		cache,
		eventLog{writes: sink},
		serviceController,
		endpointslice.WithPreferSameTrafficDistributionEnabled(true),
	)
}

// runService has upstream reconcile one step of a service chain.
//
// The topology cache must live through the chain, yet a step is run several
// times. All that the reconciler reads of it, beside the nodes, is whether the
// service has hints, so that is what is carried over from step to step.
func runService(input *step, maximum int32, hintsPopulated bool) (got *answer, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("upstream panicked: %v", reason)
		}
	}()
	logger := logr.Discard()
	key := input.Service.Namespace + "/" + input.Service.Name
	cache := topologycache.NewTopologyCache()
	cache.SetNodes(logger, input.Nodes)
	if hintsPopulated {
		cache.SetHints(key, discovery.AddressTypeIPv4, topologycache.EndpointZoneInfo{})
	}
	sink := newCapture(input.Service.Name, input.ExistingSlices)
	reconciler := newServiceReconciler(sink, input.Nodes, maximum, cache)
	trigger := time.Time{}
	if input.TriggerTime != nil {
		trigger = *input.TriggerTime
	}
	if err := reconciler.Reconcile(logger, input.Service, input.Pods, input.ExistingSlices, trigger); err != nil {
		sink.failed(err.Error())
	}
	sink.got.hintsPopulated = cache.HasPopulatedHints(key)
	return sink.got, nil
}

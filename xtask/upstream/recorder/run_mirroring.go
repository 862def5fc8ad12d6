package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
)

const (
	mirroringController = endpointslicemirroring.ControllerName

	// An Endpoints object behind the one of the step in upstream's queue. It
	// holds nothing but an address that cannot be mirrored, so that upstream
	// reports it and writes nothing: with one worker, and events in order, its
	// event shows that the step is done and that no event of it is in flight.
	marker = "the-step-before-is-done"

	// Far beyond what a step takes; only a fault in here can reach it.
	patience = time.Minute
)

// informer stands in for a shared informer: objects from an indexer, and the
// handler that the controller registered.
type informer struct {
	cache.SharedIndexInformer
	indexer cache.Indexer
	handler cache.ResourceEventHandler
}

func newInformer() *informer {
	return &informer{indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})}
}

func (i *informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handler = handler
	return nil, nil
}

func (i *informer) HasSynced() bool { return true }

func (i *informer) hold(object metav1.Object) error {
	if err := i.indexer.Add(object); err != nil {
		return fmt.Errorf("holding %s: %w", object.GetName(), err)
	}
	return nil
}

type endpointsInformer struct{ *informer }

func (e endpointsInformer) Informer() cache.SharedIndexInformer { return e.informer }
func (e endpointsInformer) Lister() corelisters.EndpointsLister {
	return corelisters.NewEndpointsLister(e.indexer)
}

type serviceInformer struct{ *informer }

func (s serviceInformer) Informer() cache.SharedIndexInformer { return s.informer }
func (s serviceInformer) Lister() corelisters.ServiceLister {
	return corelisters.NewServiceLister(s.indexer)
}

type sliceInformer struct{ *informer }

func (s sliceInformer) Informer() cache.SharedIndexInformer { return s.informer }
func (s sliceInformer) Lister() discoverylisters.EndpointSliceLister {
	return discoverylisters.NewEndpointSliceLister(s.indexer)
}

var (
	_ coreinformers.EndpointsInformer          = endpointsInformer{}
	_ coreinformers.ServiceInformer            = serviceInformer{}
	_ discoveryinformers.EndpointSliceInformer = sliceInformer{}
)

// runMirroring has upstream's mirroring controller sync one step. Its
// reconciler is not exported, so a controller is made for the step and its
// queue is given the owner.
func runMirroring(s *step, maximum int32) (*answer, error) {
	owner := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: s.Service.Namespace, Name: s.Service.Name}}
	last := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Service.Namespace, Name: marker, UID: marker},
		Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "none"}}}},
	}
	endpoints, services, slices := newInformer(), newInformer(), newInformer()
	if err := fillInformers(s, last, endpoints, services, slices); err != nil {
		return nil, err
	}

	sink := newCapture(s.Service.Name, s.ExistingSlices)
	done := make(chan struct{})
	sink.onForeign = func(string) { close(done) }
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), errorLog(sink)))
	controller := endpointslicemirroring.NewController(ctx, endpointsInformer{endpoints}, sliceInformer{slices},
		serviceInformer{services}, maximum, apiServer{writes: sink}, 0)
	endpoints.handler.OnAdd(owner, false)
	endpoints.handler.OnAdd(last, false)

	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		controller.Run(ctx, 1)
	}()
	defer func() {
		cancel()
		<-stopped
	}()
	select {
	case <-done:
		return sink.got, nil
	case <-time.After(patience):
		return nil, fmt.Errorf("upstream's mirroring controller did not finish within %s", patience)
	}
}

func fillInformers(s *step, last *corev1.Endpoints, endpoints, services, slices *informer) error {
	lastService := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: last.Namespace, Name: last.Name}}
	for _, service := range []*corev1.Service{s.Service, lastService} {
		if err := services.hold(service); err != nil {
			return err
		}
	}
	if s.Endpoints != nil {
		if err := endpoints.hold(s.Endpoints); err != nil {
			return err
		}
	}
	for _, slice := range s.ExistingSlices {
		if err := slices.hold(slice); err != nil {
			return err
		}
	}
	return endpoints.hold(last)
}

// errorLog finds the failure of a sync where upstream leaves it: in its log.
func errorLog(sink *capture) logr.Logger {
	return funcr.NewJSON(func(line string) {
		if strings.Contains(line, `"err":`) {
			sink.failed(line)
		}
	}, funcr.Options{})
}

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"
)

// writes receives what upstream sends to the API server.
type writes interface {
	create(*discovery.EndpointSlice) (*discovery.EndpointSlice, error)
	update(*discovery.EndpointSlice) (*discovery.EndpointSlice, error)
	delete(name string) error
	event(*corev1.Event)
}

// apiServer is the client handed to upstream. Only the calls that its
// reconcilers make are there; any other one fails on the nil interface.
type apiServer struct {
	kubernetes.Interface
	writes writes
}

func (a apiServer) DiscoveryV1() discoveryclient.DiscoveryV1Interface {
	return discoveryAPI{writes: a.writes}
}

func (a apiServer) CoreV1() coreclient.CoreV1Interface { return coreAPI{writes: a.writes} }

type discoveryAPI struct {
	discoveryclient.DiscoveryV1Interface
	writes writes
}

func (d discoveryAPI) EndpointSlices(string) discoveryclient.EndpointSliceInterface {
	return sliceAPI{writes: d.writes}
}

type sliceAPI struct {
	discoveryclient.EndpointSliceInterface
	writes writes
}

func (s sliceAPI) Create(_ context.Context, slice *discovery.EndpointSlice, _ metav1.CreateOptions) (*discovery.EndpointSlice, error) {
	return s.writes.create(slice)
}

func (s sliceAPI) Update(_ context.Context, slice *discovery.EndpointSlice, _ metav1.UpdateOptions) (*discovery.EndpointSlice, error) {
	return s.writes.update(slice)
}

func (s sliceAPI) Delete(_ context.Context, name string, _ metav1.DeleteOptions) error {
	return s.writes.delete(name)
}

type coreAPI struct {
	coreclient.CoreV1Interface
	writes writes
}

func (c coreAPI) Events(string) coreclient.EventInterface { return eventAPI{writes: c.writes} }

type eventAPI struct {
	coreclient.EventInterface
	writes writes
}

func (e eventAPI) CreateWithEventNamespace(event *corev1.Event) (*corev1.Event, error) {
	e.writes.event(event)
	return event, nil
}

func (e eventAPI) CreateWithEventNamespaceWithContext(_ context.Context, event *corev1.Event) (*corev1.Event, error) {
	return e.CreateWithEventNamespace(event)
}

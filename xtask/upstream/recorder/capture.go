package main

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var sliceResource = discovery.Resource("endpointslices")

// capture answers like an API server and keeps a copy of every write that
// succeeded. Events may come from another goroutine than the writes.
type capture struct {
	mutex sync.Mutex
	got   *answer
	// The slices by name, as far as the answers depend on them.
	held  map[string]bool
	names int
	owner string
	// Called with the name of another object than the owner when there is an
	// event about it.
	onForeign func(about string)
}

func newCapture(owner string, existing []*discovery.EndpointSlice) *capture {
	held := map[string]bool{}
	for _, slice := range existing {
		held[slice.Name] = true
	}
	return &capture{got: newAnswer(), held: held, owner: owner, onForeign: func(string) {}}
}

func (c *capture) create(slice *discovery.EndpointSlice) (*discovery.EndpointSlice, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.held[slice.Name] {
		return nil, apierrors.NewAlreadyExists(sliceResource, slice.Name)
	}
	c.names++
	stored := created(slice, c.names)
	stored.Name = fmt.Sprintf("%s%d", slice.GenerateName, c.names)
	c.held[stored.Name] = true
	c.got.Creates = append(c.got.Creates, slice.DeepCopy())
	return stored, nil
}

func (c *capture) update(slice *discovery.EndpointSlice) (*discovery.EndpointSlice, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.held[slice.Name] {
		return nil, apierrors.NewNotFound(sliceResource, slice.Name)
	}
	c.got.Updates = append(c.got.Updates, slice.DeepCopy())
	return slice.DeepCopy(), nil
}

func (c *capture) delete(name string) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if !c.held[name] {
		return apierrors.NewNotFound(sliceResource, name)
	}
	delete(c.held, name)
	c.got.Deletes = append(c.got.Deletes, name)
	return nil
}

func (c *capture) event(e *corev1.Event) {
	if about := e.InvolvedObject.Name; about != c.owner {
		c.onForeign(about)
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.got.Events = append(c.got.Events, event{Type: e.Type, Reason: e.Reason, Message: e.Message})
}

func (c *capture) failed(message string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.got.Error = message
}

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// store holds the slices of a chain as an API server would.
type store struct {
	slices []*discovery.EndpointSlice
	names  int
}

// created completes a new slice: the name, uid and generation that an API
// server would give it.
func created(slice *discovery.EndpointSlice, number int) *discovery.EndpointSlice {
	stored := slice.DeepCopy()
	if stored.Name == "" {
		stored.Name = fmt.Sprintf("%sx%04d", stored.GenerateName, number)
	}
	stored.UID = types.UID(fmt.Sprintf("slice-uid-%d", number))
	stored.Generation = 1
	return stored
}

func (s *store) add(slice *discovery.EndpointSlice) {
	s.names++
	s.slices = append(s.slices, created(slice, s.names))
	s.sort()
}

// replace executes an update: the stored identity stays, and the generation
// counts changes of what is not metadata.
func (s *store) replace(sent *discovery.EndpointSlice) {
	for i, old := range s.slices {
		if old.Name != sent.Name {
			continue
		}
		stored := sent.DeepCopy()
		stored.UID = old.UID
		stored.Generation = old.Generation
		if !equality.Semantic.DeepEqual(old.Endpoints, stored.Endpoints) ||
			!equality.Semantic.DeepEqual(old.Ports, stored.Ports) {
			stored.Generation++
		}
		s.slices[i] = stored
	}
}

func (s *store) remove(name string) {
	s.slices = slices.DeleteFunc(s.slices, func(slice *discovery.EndpointSlice) bool {
		return slice.Name == name
	})
}

func (s *store) apply(a *answer) {
	for _, slice := range a.Creates {
		s.add(slice)
	}
	for _, slice := range a.Updates {
		s.replace(slice)
	}
	for _, name := range a.Deletes {
		s.remove(name)
	}
}

func (s *store) sort() {
	slices.SortFunc(s.slices, func(a, b *discovery.EndpointSlice) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// list is what a controller would find by its two labels.
func (s *store) list(owner, managedBy string) []*discovery.EndpointSlice {
	found := []*discovery.EndpointSlice{}
	for _, slice := range s.slices {
		if slice.Labels[discovery.LabelServiceName] == owner && slice.Labels[discovery.LabelManagedBy] == managedBy {
			found = append(found, slice.DeepCopy())
		}
	}
	return found
}

// asJSON is the form in which objects are sorted and compared.
func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("Kubernetes objects always have a JSON form: %v", err))
	}
	return string(text)
}

func ownedByService(slice *discovery.EndpointSlice, service *corev1.Service) bool {
	for _, owner := range slice.OwnerReferences {
		if owner.UID == service.UID && owner.Kind == "Service" && owner.APIVersion == "v1" {
			return true
		}
	}
	return false
}

package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
)

// chain is one line of a vector file: reconciliations of one owner, each
// starting from the slices that the one before left behind.
type chain struct {
	Name                 string  `json:"name"`
	MaxEndpointsPerSlice int32   `json:"maxEndpointsPerSlice"`
	Steps                []*step `json:"steps"`
}

// step carries everything upstream was given, and what it did with it.
type step struct {
	Change         string                     `json:"change"`
	Service        *corev1.Service            `json:"service"`
	Endpoints      *corev1.Endpoints          `json:"endpoints,omitempty"`
	Pods           []*corev1.Pod              `json:"pods,omitempty"`
	Nodes          []*corev1.Node             `json:"nodes,omitempty"`
	TriggerTime    *time.Time                 `json:"triggerTime,omitempty"`
	ExistingSlices []*discovery.EndpointSlice `json:"existingSlices"`
	Expect         *answer                    `json:"expect"`
}

// answer is what upstream did in one step: the objects as it sent them.
type answer struct {
	Error   string                     `json:"error,omitempty"`
	Creates []*discovery.EndpointSlice `json:"creates"`
	Updates []*discovery.EndpointSlice `json:"updates"`
	Deletes []string                   `json:"deletes"`
	Events  []event                    `json:"events"`

	// Whether the topology cache holds hints afterwards: it shapes the events
	// of the next step, so two runs that differ here differ.
	hintsPopulated bool
}

type event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

func newAnswer() *answer {
	return &answer{
		Creates: []*discovery.EndpointSlice{},
		Updates: []*discovery.EndpointSlice{},
		Deletes: []string{},
		Events:  []event{},
	}
}

func (a *answer) writes() int {
	return len(a.Creates) + len(a.Updates) + len(a.Deletes)
}

func copySlices(slices []*discovery.EndpointSlice) []*discovery.EndpointSlice {
	copies := make([]*discovery.EndpointSlice, 0, len(slices))
	for _, slice := range slices {
		copies = append(copies, slice.DeepCopy())
	}
	return copies
}

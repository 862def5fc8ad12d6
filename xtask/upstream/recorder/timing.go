package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/endpointslice/metrics"
	"k8s.io/endpointslice/topologycache"
)

// timed is what the command time reads: the objects of one sync, and how often
// to measure it.
type timed struct {
	Service              *corev1.Service            `json:"service"`
	Pods                 []*corev1.Pod              `json:"pods"`
	Nodes                []*corev1.Node             `json:"nodes"`
	ExistingSlices       []*discovery.EndpointSlice `json:"existingSlices"`
	MaxEndpointsPerSlice int32                      `json:"maxEndpointsPerSlice"`
	Iterations           int                        `json:"iterations"`
}

// timing is what it prints: how long a sync took, and what it wrote.
type timing struct {
	NsPerSync int64 `json:"ns_per_sync"`
	tally
}

// tally answers every write at once, and counts them.
type tally struct {
	Creates int `json:"creates"`
	Updates int `json:"updates"`
	Deletes int `json:"deletes"`
}

// timeServices measures each document of the input and prints a line for it.
func timeServices(in io.Reader, out io.Writer) error {
	metrics.RegisterMetrics()
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	for number := 1; ; number++ {
		var objects timed
		if err := decoder.Decode(&objects); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading document %d of the input: %w", number, err)
		}
		if err := objects.check(); err != nil {
			return fmt.Errorf("document %d of the input: %w", number, err)
		}
		if err := encoder.Encode(timeService(&objects)); err != nil {
			return fmt.Errorf("printing the result: %w", err)
		}
	}
}

func (t *timed) check() error {
	switch {
	case t.Service == nil:
		return errors.New("there is no service")
	case t.MaxEndpointsPerSlice < 1:
		return errors.New("maxEndpointsPerSlice must be 1 or more")
	case t.Iterations < 1:
		return errors.New("iterations must be 1 or more")
	default:
		return nil
	}
}

// timeService returns the median time of a sync. One sync more comes first and
// is not counted: it fills the caches that a running controller has filled.
// Upstream leaves the objects it is given as they are, so every sync starts
// from the same state.
func timeService(objects *timed) timing {
	logger := logr.Discard()
	cache := topologycache.NewTopologyCache()
	cache.SetNodes(logger, objects.Nodes)
	var first, written tally
	reconciler := newServiceReconciler(&written, objects.Nodes, objects.MaxEndpointsPerSlice, cache)
	trigger := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	times := make([]time.Duration, 0, objects.Iterations)
	for i := range objects.Iterations + 1 {
		existing := slices.Clone(objects.ExistingSlices)
		began := time.Now()
		// Pods on unknown nodes make it fail, and cost what they cost.
		_ = reconciler.Reconcile(logger, objects.Service, objects.Pods, existing, trigger)
		if took := time.Since(began); i > 0 {
			times = append(times, took)
		} else {
			first = written
		}
	}
	slices.Sort(times)
	return timing{NsPerSync: times[len(times)/2].Nanoseconds(), tally: first}
}

func (t *tally) create(slice *discovery.EndpointSlice) (*discovery.EndpointSlice, error) {
	t.Creates++
	return slice, nil
}

func (t *tally) update(slice *discovery.EndpointSlice) (*discovery.EndpointSlice, error) {
	t.Updates++
	return slice, nil
}

func (t *tally) delete(string) error {
	t.Deletes++
	return nil
}

func (t *tally) event(*corev1.Event) {}

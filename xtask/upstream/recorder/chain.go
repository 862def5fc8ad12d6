package main

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// errAmbiguous: upstream gave two answers to one step.
var errAmbiguous = errors.New("upstream answers in more than one way")

// How often upstream is asked. An answer that it gives every second time is
// missed once in two thousand times. How hints by topology are spread depends
// on many small maps, whose order seldom differs.
const (
	runs          = 12
	runsWithHints = 40
)

// world is what the chains of both kinds have in common.
type world interface {
	change() string
	step(change string) *step
	apply(*answer)
	// run has upstream answer a step for the n-th time, canonically.
	run(s *step, n uint64) (*answer, error)
	limit() int32
}

// kinds are the controllers that can be recorded.
var kinds = map[string]func(dice) world{
	"service":   func(d dice) world { return &serviceChain{serviceWorld: newServiceWorld(d)} },
	"mirroring": func(d dice) world { return &mirroringChain{newMirroringWorld(d)} },
}

func kindNames() string { return strings.Join(sets.List(sets.KeySet(kinds)), ", ") }

// reordered is a copy of a step's input for upstream to work on. The pods and
// slices are in another order each time, as they come from its informers.
func reordered(s *step, n uint64) *step {
	input := &step{
		Service: s.Service.DeepCopy(), Endpoints: s.Endpoints.DeepCopy(),
		TriggerTime: s.TriggerTime, ExistingSlices: copySlices(s.ExistingSlices),
	}
	for _, pod := range s.Pods {
		input.Pods = append(input.Pods, pod.DeepCopy())
	}
	for _, node := range s.Nodes {
		input.Nodes = append(input.Nodes, node.DeepCopy())
	}
	if n == 0 {
		return input
	}
	order := newDice(n, 0)
	order.Shuffle(len(input.Pods), func(i, j int) { input.Pods[i], input.Pods[j] = input.Pods[j], input.Pods[i] })
	order.Shuffle(len(input.ExistingSlices), func(i, j int) {
		input.ExistingSlices[i], input.ExistingSlices[j] = input.ExistingSlices[j], input.ExistingSlices[i]
	})
	return input
}

type serviceChain struct {
	*serviceWorld
	hintsPopulated bool
}

func (c *serviceChain) limit() int32 { return c.maximum }

func (c *serviceChain) run(s *step, n uint64) (*answer, error) {
	got, err := runService(reordered(s, n), c.maximum, c.hintsPopulated)
	if err != nil {
		return nil, err
	}
	return canonicalService(s, got)
}

func (c *serviceChain) apply(a *answer) {
	c.store.apply(a)
	c.hintsPopulated = a.hintsPopulated
}

type mirroringChain struct{ *mirroringWorld }

func (c *mirroringChain) limit() int32 { return c.maximum }

func (c *mirroringChain) run(s *step, n uint64) (*answer, error) {
	got, err := runMirroring(reordered(s, n), c.maximum)
	if err != nil {
		return nil, err
	}
	return canonicalMirroring(s, got, c.maximum)
}

func (c *mirroringChain) apply(a *answer) { c.store.apply(a) }

// recordChain makes one chain and asks upstream for the answers.
func recordChain(kind string, seed, number uint64) (*chain, error) {
	d := newDice(seed, number)
	w := kinds[kind](d)
	c := &chain{Name: fmt.Sprintf("%s-%d-%d", kind, seed, number), MaxEndpointsPerSlice: w.limit()}
	change := "start"
	for range d.between(3, 8) {
		s := w.step(change)
		if err := ask(w, s); err != nil {
			return nil, fmt.Errorf("chain %s, step %d (%s): %w", c.Name, len(c.Steps)+1, s.Change, err)
		}
		c.Steps = append(c.Steps, s)
		w.apply(s.Expect)
		change = w.change()
	}
	return c, nil
}

// ask fills in what upstream answers to a step.
func ask(w world, s *step) error {
	seen := ""
	for n := uint64(0); n < runs || s.Expect.hintsPopulated && n < runsWithHints; n++ {
		got, err := w.run(s, n)
		if err != nil {
			return err
		}
		if n == 0 {
			s.Expect, seen = got, comparable(got)
		} else if comparable(got) != seen {
			return errAmbiguous
		}
	}
	return nil
}

// comparable is an answer in the form in which two runs are compared; of an
// error only whether there is one, because it lists pods in the order shown.
func comparable(a *answer) string {
	bare := *a
	if bare.Error != "" {
		bare.Error = "some"
	}
	return asJSON([]any{bare, a.hintsPopulated})
}

package main

import "math/rand/v2"

// dice makes every choice of a chain. Each chain has its own, so that a chain
// depends on the seed and its number and on nothing else.
type dice struct{ *rand.Rand }

func newDice(seed, number uint64) dice {
	return dice{rand.New(rand.NewPCG(seed, number))}
}

func (d dice) percent(share int) bool { return d.IntN(100) < share }

// between includes both bounds.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// some picks up to n different places of a list of the given length.
func (d dice) some(n, length int) []int {
	return d.Perm(length)[:min(n, length)]
}

// weighted is a choice with a weight.
type weighted[T any] struct {
	weight int
	value  T
}

func pickWeighted[T any](d dice, from []weighted[T]) T {
	total := 0
	for _, choice := range from {
		total += choice.weight
	}
	at := d.IntN(total)
	for _, choice := range from {
		if at < choice.weight {
			return choice.value
		}
		at -= choice.weight
	}
	panic("the weights add up to more than any number drawn below their sum")
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

// recordOptions are the flags of the command record.
type recordOptions struct {
	kind  string
	seed  uint64
	count int
	file  string
}

// record writes count chains, and skips those that upstream answers in
// more than one way. Chain after chain is numbered, so the same options give
// the same file.
func record(options recordOptions, progress io.Writer) error {
	out, err := createOutput(options.file)
	if err != nil {
		return err
	}
	sum := summary{}
	began := time.Now()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for first := uint64(1); sum.chains < options.count; first += batch {
		for _, result := range recordBatch(options.kind, options.seed, first) {
			if sum.chains == options.count {
				break
			}
			if errors.Is(result.err, errAmbiguous) {
				sum.dropped++
				continue
			}
			if result.err != nil {
				out.Close()
				return result.err
			}
			if err := encoder.Encode(result.chain); err != nil {
				out.Close()
				return fmt.Errorf("writing %s: %w", options.file, err)
			}
			sum.add(result.chain)
		}
		if options.count > batch {
			fmt.Fprintf(progress, "recorder: %d of %d chains, %d dropped, %s\n",
				sum.chains, options.count, sum.dropped, time.Since(began).Round(time.Second))
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", options.file, err)
	}
	fmt.Fprintf(progress, "recorder: %s: %s\n", options.file, sum)
	return nil
}

// batch is how many chains are recorded at a time.
const batch = 64

type result struct {
	chain *chain
	err   error
}

// recordBatch records the chains from first on, in parallel, and returns them
// in the order of their numbers.
func recordBatch(kind string, seed, first uint64) []result {
	results := make([]result, batch)
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				results[i].chain, results[i].err = recordChain(kind, seed, first+uint64(i))
			}
		})
	}
	for i := range results {
		next <- i
	}
	close(next)
	workers.Wait()
	return results
}

// summary counts what was recorded.
type summary struct {
	chains, dropped, steps            int
	creates, updates, deletes         int
	withoutWrite, withError, withHint int
	events                            int
}

func (s *summary) add(c *chain) {
	s.chains++
	for _, step := range c.Steps {
		s.steps++
		s.creates += len(step.Expect.Creates)
		s.updates += len(step.Expect.Updates)
		s.deletes += len(step.Expect.Deletes)
		s.events += len(step.Expect.Events)
		if step.Expect.writes() == 0 {
			s.withoutWrite++
		}
		if step.Expect.Error != "" {
			s.withError++
		}
		if step.Expect.hintsPopulated {
			s.withHint++
		}
	}
}

func (s summary) String() string {
	return fmt.Sprintf("%d chains (%d dropped), %d steps, %d creates, %d updates, %d deletes, %d steps without a write, "+
		"%d with an error, %d with topology hints, %d events",
		s.chains, s.dropped, s.steps, s.creates, s.updates, s.deletes, s.withoutWrite, s.withError, s.withHint, s.events)
}

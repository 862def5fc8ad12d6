package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// output is a file that is compressed when its name asks for it.
type output struct {
	io.Writer
	closers []func() error
}

func createOutput(name string) (*output, error) {
	if !strings.HasSuffix(name, ".jsonl") && !strings.HasSuffix(name, ".jsonl.gz") {
		return nil, fmt.Errorf("-o %q: name a file that ends in .jsonl or .jsonl.gz", name)
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, fmt.Errorf("creating the vector file: %w", err)
	}
	buffered := bufio.NewWriter(file)
	out := &output{Writer: buffered, closers: []func() error{buffered.Flush, file.Close}}
	if strings.HasSuffix(name, ".gz") {
		// Without a time in its header: the same chains are the same bytes.
		packed := gzip.NewWriter(buffered)
		out.Writer = packed
		out.closers = append([]func() error{packed.Close}, out.closers...)
	}
	return out, nil
}

func (o *output) Close() error {
	var all error
	for _, closer := range o.closers {
		all = errors.Join(all, closer())
	}
	return all
}

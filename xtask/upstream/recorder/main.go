// Command recorder asks the reconcilers of the Kubernetes release that this
// module pins what they do, and how long they take.
//
//	recorder record --kind service|mirroring --seed N --count M -o FILE
//	recorder time --kind service < objects.json
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	// Upstream's own log adds nothing to the results.
	klog.SetLogger(logr.Discard())
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "recorder: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name a command: record or time")
	}
	switch args[0] {
	case "record":
		return runRecord(args[1:])
	case "time":
		return runTime(args[1:])
	default:
		return fmt.Errorf("unknown command %q: there are record and time", args[0])
	}
}

func runRecord(args []string) error {
	options := recordOptions{}
	flags := newFlags("record", &options.kind)
	flags.Uint64Var(&options.seed, "seed", 1, "which chains to make")
	flags.IntVar(&options.count, "count", 100, "how many chains to record")
	flags.StringVar(&options.file, "o", "", "the file to write: .jsonl or .jsonl.gz")
	if err := parse(flags, args); err != nil {
		return err
	}
	if _, ok := kinds[options.kind]; !ok {
		return fmt.Errorf("--kind %q: there are %s", options.kind, kindNames())
	}
	if options.count < 1 {
		return fmt.Errorf("--count %d: record at least one chain", options.count)
	}
	return record(options, os.Stderr)
}

func runTime(args []string) error {
	var kind string
	flags := newFlags("time", &kind)
	if err := parse(flags, args); err != nil {
		return err
	}
	if kind != "service" {
		return fmt.Errorf("--kind %q: only service can be timed", kind)
	}
	return timeServices(os.Stdin, os.Stdout)
}

func newFlags(name string, kind *string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(kind, "kind", "service", "the controller: "+kindNames())
	return flags
}

func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", flags.Name(), err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument %q", flags.Name(), flags.Arg(0))
	}
	return nil
}

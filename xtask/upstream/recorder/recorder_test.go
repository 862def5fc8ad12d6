package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	discovery "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

func TestTheSameSeedGivesTheSameFile(t *testing.T) {
	for kind := range kinds {
		files := []string{}
		for i := range 2 {
			name := filepath.Join(t.TempDir(), fmt.Sprintf("%d.jsonl.gz", i))
			if err := record(recordOptions{kind: kind, seed: 7, count: 5, file: name}, io.Discard); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, string(content))
		}
		if files[0] != files[1] {
			t.Errorf("two recordings of kind %s differ", kind)
		}
	}
}

func TestAnotherNumberGivesAnotherChain(t *testing.T) {
	first, second := newServiceWorld(newDice(1, 1)).step("start"), newServiceWorld(newDice(1, 2)).step("start")
	if asJSON(first) == asJSON(second) {
		t.Error("two numbers gave the same start")
	}
}

// Upstream has two slices of one endpoint each to fill, and picks either.
func TestTheSliceThatANewEndpointLandsInIsNotRecorded(t *testing.T) {
	s := &step{Service: newServiceWorld(newDice(1, 1)).service}
	s.Service.Annotations = nil
	for _, name := range []string{"a", "b"} {
		slice := sliceOf(s, name, "10.0.0."+map[string]string{"a": "1", "b": "2"}[name])
		s.ExistingSlices = append(s.ExistingSlices, slice)
	}
	answers := []string{}
	for _, filled := range s.ExistingSlices {
		got := newAnswer()
		update := filled.DeepCopy()
		update.Endpoints = append(update.Endpoints, discovery.Endpoint{Addresses: []string{"10.0.0.3"}})
		got.Updates = append(got.Updates, update)
		canonical, err := canonicalService(s, got)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, asJSON(canonical))
	}
	if answers[0] != answers[1] {
		t.Errorf("got %s and %s", answers[0], answers[1])
	}
	if !strings.Contains(answers[0], `"name":"a"`) {
		t.Errorf("the first of equal slices is to be filled, got %s", answers[0])
	}
}

func TestFillingOneOfSlicesThatDifferIsAmbiguous(t *testing.T) {
	s := &step{Service: newServiceWorld(newDice(1, 1)).service}
	s.Service.Annotations = nil
	s.ExistingSlices = []*discovery.EndpointSlice{sliceOf(s, "a", "10.0.0.1"), sliceOf(s, "b", "10.0.0.2")}
	s.ExistingSlices[1].Annotations = map[string]string{"by": "hand"}
	got := newAnswer()
	update := s.ExistingSlices[0].DeepCopy()
	update.Endpoints = append(update.Endpoints, discovery.Endpoint{Addresses: []string{"10.0.0.3"}})
	got.Updates = append(got.Updates, update)
	if _, err := canonicalService(s, got); !errors.Is(err, errAmbiguous) {
		t.Errorf("got %v", err)
	}
}

func sliceOf(s *step, name, address string) *discovery.EndpointSlice {
	return created(&discovery.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", UID: s.Service.UID}},
		},
		AddressType: discovery.AddressTypeIPv4,
		Endpoints:   []discovery.Endpoint{{Addresses: []string{address}}},
	}, 1)
}

func TestTimeAnswersEachDocument(t *testing.T) {
	s := newServiceWorld(newDice(1, 3)).step("start")
	document := asJSON(timed{Service: s.Service, Pods: s.Pods, Nodes: s.Nodes, MaxEndpointsPerSlice: 3, Iterations: 2})
	var out bytes.Buffer
	if err := timeServices(strings.NewReader(document+"\n"+document), &out); err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(&out)
	for i := range 2 {
		var got timing
		if err := decoder.Decode(&got); err != nil || got.NsPerSync <= 0 || got.Creates == 0 {
			t.Errorf("answer %d: %+v, %v", i+1, got, err)
		}
	}
}

func TestFaultyInputIsNamed(t *testing.T) {
	for input, want := range map[string]string{
		`{"maxEndpointsPerSlice":1,"iterations":1}`:  "document 1 of the input: there is no service",
		`{"service":{},"iterations":1}`:              "document 1 of the input: maxEndpointsPerSlice must be 1 or more",
		`{"service":{},"maxEndpointsPerSlice":1}`:    "document 1 of the input: iterations must be 1 or more",
		`{"service":[]}`:                             "reading document 1 of the input",
		`{"service":{},"maxEndpointsPerSlice":1,"it`: "reading document 1 of the input",
	} {
		err := timeServices(strings.NewReader(input), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", input, err)
		}
	}
}

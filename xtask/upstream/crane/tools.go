//go:build tools

// Package crane names the program, so that go.mod and go.sum pin it.
package crane

import _ "github.com/google/go-containerregistry/cmd/crane"

//go:build tools

// Package helm names the program, so that go.mod and go.sum pin it.
package helm

import _ "helm.sh/helm/v4/cmd/helm"

// Package server tests serve, and all verbs with --server.
package server

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

func TestMain(m *testing.M) {
	e2e.Main(m, map[string]func(){"watched-server": watchedServer})
}

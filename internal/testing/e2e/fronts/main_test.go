// Package fronts tests the other front ends: the C library libompd, gdb, Delve, editors, breakpoints and symbols.
package fronts

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, nil) }

// Package verdicts tests the verdicts of diagnose: on programs that hang or crash, and on healthy ones.
package verdicts

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, nil) }

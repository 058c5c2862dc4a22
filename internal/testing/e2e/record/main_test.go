// Package record tests record and trace: recorded programs, and the reports and verdicts that use a record.
package record

import (
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, nil) }

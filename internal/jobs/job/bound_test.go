package job

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
)

// TestDecodeBound decodes messages whose content would take gigabytes: they are refused before.
func TestDecodeBound(t *testing.T) {
	var apart, pids []string
	for rank := 0; rank < MaxRanks; rank += pageSize {
		apart, pids = append(apart, strconv.Itoa(rank)), append(pids, "1")
	}
	host := `{"hosts":[{"ranks":"` + strings.Join(apart, ",") + `","pids":"` + strings.Join(pids, ",") + `"}]}`
	for name, text := range map[string]string{
		"ranks far apart": host,
		"hosts":           `{"hosts":[{}` + strings.Repeat(",{}", 1<<21) + `]}`,
		"names":           `{"names":{"":{}` + strings.Repeat(`,"":{}`, 1<<22) + `}}`,
		"sets of ranks":   `{"kinds":[{}` + strings.Repeat(`,{"ranks":"0-16777215"}`, 20000) + `]}`,
	} {
		if _, err := new(Decoder).unpack([]byte(text)); !errors.Is(err, budget.ErrMemory) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

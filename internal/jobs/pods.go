package jobs

import (
	"context"
	"fmt"

	"github.com/ompd-inspect/ompd-inspect/internal/guard/budget"
	"github.com/ompd-inspect/ompd-inspect/internal/guard/jsonx"
)

// Pods returns the pods of a cluster that a label selector matches, by kubectl. Pods that do not run have a
// reason in Dead.
func Pods(ctx context.Context, selector string) ([]Node, error) {
	out, err := commandOutput(ctx, "kubectl", "get", "pods", "-l", selector, "-o", "json")
	if err != nil {
		return nil, err
	}
	pods, err := parsePods([]byte(out))
	if err == nil && len(pods) == 0 {
		const words = "no pod matches the labels %q: `kubectl get pods --show-labels` lists the labels"
		err = fmt.Errorf(words, selector)
	}
	return pods, err
}

// parsePods returns the pods in the output of kubectl.
func parsePods(out []byte) ([]Node, error) {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct{ Phase, Reason string }
		}
	}
	if err := jsonx.Unmarshal(out, &list, budget.NewLedger(budget.DefaultMemory), "its list of pods"); err != nil {
		return nil, fmt.Errorf("kubectl get pods: %w", err)
	}
	var pods []Node
	for _, i := range list.Items {
		n := Node{Name: i.Metadata.Name}
		if i.Status.Phase != "Running" {
			n.Dead = "the pod is " + i.Status.Phase
			if i.Status.Reason != "" {
				n.Dead += " (" + i.Status.Reason + ")"
			}
		}
		pods = append(pods, n)
	}
	return pods, nil
}

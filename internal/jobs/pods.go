package jobs

import (
	"context"
	"encoding/json"
	"fmt"
)

// Pods are the pods of a cluster that a label selector chooses, as kubectl tells, with why
// those cannot be asked that do not run.
func Pods(ctx context.Context, selector string) ([]Node, error) {
	out, err := output(ctx, "kubectl", "get", "pods", "-l", selector, "-o", "json")
	if err != nil {
		return nil, err
	}
	pods, err := podsIn([]byte(out))
	if err == nil && len(pods) == 0 {
		const words = "no pod has the labels %q: `kubectl get pods --show-labels` shows those that there are"
		err = fmt.Errorf(words, selector)
	}
	return pods, err
}

// podsIn are the pods of an answer of kubectl.
func podsIn(out []byte) ([]Node, error) {
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct{ Phase, Reason string }
		}
	}
	if err := json.Unmarshal(out, &list); err != nil {
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

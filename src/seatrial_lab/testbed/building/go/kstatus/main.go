// Reads a JSON list of Kubernetes objects and writes what kstatus makes of each: [{"status": …, "message": …}].
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type answer struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var items []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&items); err != nil {
		return err
	}
	answers := make([]answer, 0, len(items))
	for _, item := range items {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(item); err != nil {
			return err
		}
		found, err := status.Compute(object)
		if err != nil {
			return err
		}
		answers = append(answers, answer{Status: string(found.Status), Message: found.Message})
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

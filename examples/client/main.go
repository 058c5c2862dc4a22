// Command client prints the verdicts and the threads of a core or a process on the machine of a server.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	ompdv1 "github.com/ompd-inspect/ompd-inspect/proto/ompd/v1"
)

// list prints what a server finds out about a target.
func list(ctx context.Context, api ompdv1.InspectionServiceClient, spec *ompdv1.TargetSpec) error {
	opened, err := api.OpenTarget(ctx, &ompdv1.OpenTargetRequest{Spec: spec})
	if err != nil {
		return err
	}
	target := opened.GetTarget().GetName()
	verdicts, err := api.ListVerdicts(ctx, &ompdv1.ListVerdictsRequest{Target: target})
	if err != nil {
		return err
	}
	for _, v := range verdicts.GetVerdicts() {
		fmt.Println(v.GetSummary())
	}
	for page, more := "", true; more; more = page != "" {
		threads, err := api.ListThreads(ctx, &ompdv1.ListThreadsRequest{Target: target, PageToken: page})
		if err != nil {
			return err
		}
		for _, t := range threads.GetThreads() {
			fmt.Println("LWP", t.GetLwp(), t.GetState().GetName(), t.GetWaitName())
		}
		page = threads.GetNextPageToken()
	}
	return nil
}

func main() {
	conn, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if token := os.Getenv("OMPD_TOKEN"); token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	spec := &ompdv1.TargetSpec{Source: &ompdv1.TargetSpec_Core{Core: os.Args[2]}}
	if pid, err := strconv.ParseInt(os.Args[2], 10, 64); err == nil {
		spec.Source = &ompdv1.TargetSpec_Pid{Pid: pid}
	}
	if err := list(ctx, ompdv1.NewInspectionServiceClient(conn), spec); err != nil {
		log.Fatal(err)
	}
}

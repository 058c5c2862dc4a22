#!/usr/bin/env python3
"""Prints the verdicts and the threads of a core or a process on the machine of a server."""
import os
import sys

import grpc
from ompd.v1 import inspection_service_pb2 as api
from ompd.v1 import picture_pb2

token = os.environ.get("OMPD_TOKEN")
headers = [("authorization", "Bearer " + token)] if token else []
channel = grpc.insecure_channel(sys.argv[1])  # one connection: it owns the target


def call(name, request, answer):
    """Makes a call of InspectionService with a single answer."""
    method = channel.unary_unary("/ompd.v1.InspectionService/" + name,
                                 request_serializer=type(request).SerializeToString,
                                 response_deserializer=answer.FromString)
    return method(request, metadata=headers, timeout=60)


spec = api.TargetSpec(pid=int(sys.argv[2])) if sys.argv[2].isdigit() else api.TargetSpec(core=sys.argv[2])
target = call("OpenTarget", api.OpenTargetRequest(spec=spec), api.OpenTargetResponse).target
for v in call("ListVerdicts", api.ListVerdictsRequest(target=target.name), api.ListVerdictsResponse).verdicts:
    print(v.summary)
page = ""
while True:
    threads = call("ListThreads", api.ListThreadsRequest(target=target.name, page_token=page), api.ListThreadsResponse)
    for t in threads.threads:
        print("LWP", t.lwp, picture_pb2.StateName.Name(t.state.name) if t.HasField("state") else "", t.wait_name)
    page = threads.next_page_token
    if not page:
        break

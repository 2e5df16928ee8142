import protobuf from "protobufjs";

const SOURCE = `
syntax = "proto3";
message PushRequest { repeated Stream streams = 1; }
message Stream { string labels = 1; repeated Entry entries = 2; uint64 hash = 3; }
message Entry { Timestamp timestamp = 1; string line = 2; repeated Pair structuredMetadata = 3; }
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Pair { string name = 1; string value = 2; }
`;

const PushRequest = protobuf.parse(SOURCE).root.lookupType("PushRequest");

/** Encodes a Loki push in protobuf with protobufjs, uncompressed. */
export function encodePush(push: object): Buffer {
  return Buffer.from(PushRequest.encode(PushRequest.fromObject(push)).finish());
}

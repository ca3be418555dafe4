package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

var codecs = map[string]kgo.CompressionCodec{
	"":       kgo.NoCompression(),
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

func produce(ctx context.Context, command Command) (Answer, error) {
	options := []kgo.Opt{kgo.ProducerBatchCompression(codecs[command.Compression])}
	if command.Transaction != "" {
		options = append(options, kgo.TransactionalID(command.Transaction))
	} else if !command.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := connect(command, options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if command.Transaction != "" {
		if err := client.BeginTransaction(); err != nil {
			return nil, err
		}
	}
	if err := client.ProduceSync(ctx, records(command)...).FirstErr(); err != nil {
		return nil, err
	}
	if command.Transaction != "" {
		return Answer{}, client.EndTransaction(ctx, kgo.TransactionEndTry(!command.Abort))
	}
	return Answer{}, nil
}

func records(command Command) []*kgo.Record {
	var all []*kgo.Record
	for _, value := range command.Values {
		record := &kgo.Record{Topic: command.Topic, Value: []byte(value)}
		for name, text := range command.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: name, Value: []byte(text)})
		}
		all = append(all, record)
	}
	return all
}

func fetch(ctx context.Context, command Command) (Answer, error) {
	level := kgo.ReadUncommitted()
	if command.Committed {
		level = kgo.ReadCommitted()
	}
	start := map[string]map[int32]kgo.Offset{command.Topic: {0: kgo.NewOffset().AtStart()}}
	client, err := connect(command, kgo.ConsumePartitions(start), kgo.FetchIsolationLevel(level))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil { // which says what is wrong; polling tries again for ever
		return nil, err
	}
	found, err := poll(ctx, client, command.Count)
	if err != nil {
		return nil, err
	}
	all := []Answer{}
	for _, record := range found {
		headers := map[string]string{}
		for _, header := range record.Headers {
			headers[header.Key] = string(header.Value)
		}
		all = append(all, Answer{"offset": record.Offset, "value": string(record.Value), "headers": headers})
	}
	return Answer{"records": all}, nil
}

// poll until there are count records.
func poll(ctx context.Context, client *kgo.Client, count int) ([]*kgo.Record, error) {
	var found []*kgo.Record
	for len(found) < count {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, fmt.Errorf("after %d of %d records: %w", len(found), count, err)
		}
		var failed error
		fetches.EachError(func(_ string, _ int32, err error) { failed = err })
		if failed != nil {
			return nil, failed
		}
		found = append(found, fetches.Records()...)
	}
	return found, nil
}

func group(ctx context.Context, command Command) (Answer, error) {
	options := []kgo.Opt{
		kgo.ConsumerGroup(command.Group),
		kgo.ConsumeTopics(command.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	}
	if command.Instance != "" {
		options = append(options, kgo.InstanceID(command.Instance))
	}
	if command.Protocol == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	client, err := connect(command, options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found, err := poll(ctx, client, command.Count)
	if err != nil {
		return nil, err
	}
	values := []string{}
	for _, record := range found {
		values = append(values, string(record.Value))
	}
	return Answer{"values": values}, client.CommitRecords(ctx, found...)
}

func share(ctx context.Context, command Command) (Answer, error) {
	var refused error
	results := func(_ *kgo.Client, results kgo.ShareAckResults) {
		if err := results.Error(); err != nil {
			refused = err
		}
	}
	client, err := connect(command,
		kgo.ShareGroup(command.Group), kgo.ConsumeTopics(command.Topic), kgo.ShareAckCallback(results))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	deliveries := [][]any{}
	for accepted := 0; accepted < command.Count; {
		found, err := poll(ctx, client, 1)
		if err != nil {
			return nil, err
		}
		for _, record := range found {
			value := string(record.Value)
			deliveries = append(deliveries, []any{value, record.DeliveryCount()})
			switch {
			case strings.HasPrefix(value, "release") && record.DeliveryCount() == 1:
				record.Ack(kgo.AckRelease)
			case strings.HasPrefix(value, "reject"):
				record.Ack(kgo.AckReject)
				accepted++
			default:
				record.Ack(kgo.AckAccept)
				accepted++
			}
		}
		if err := client.FlushAcks(ctx); err != nil {
			return nil, err
		}
	}
	return Answer{"deliveries": deliveries}, refused
}

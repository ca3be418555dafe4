package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
)

// administer runs work with an admin client, which is closed at the end.
func administer(command Command, work func(*kadm.Client) (Answer, error)) (Answer, error) {
	client, err := connect(command)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return work(kadm.NewClient(client))
}

func offsets(ctx context.Context, command Command) (Answer, error) {
	return administer(command, func(admin *kadm.Client) (Answer, error) {
		earliest, err := admin.ListStartOffsets(ctx, command.Topic)
		if err != nil {
			return nil, err
		}
		latest, err := admin.ListEndOffsets(ctx, command.Topic)
		if err != nil {
			return nil, err
		}
		first, _ := earliest.Lookup(command.Topic, 0)
		last, _ := latest.Lookup(command.Topic, 0)
		return Answer{"earliest": first.Offset, "latest": last.Offset}, nil
	})
}

func createTopic(ctx context.Context, command Command) (Answer, error) {
	return administer(command, func(admin *kadm.Client) (Answer, error) {
		_, err := admin.CreateTopic(ctx, command.Partitions, 1, nil, command.Topic)
		return Answer{}, err
	})
}

func describeTopic(ctx context.Context, command Command) (Answer, error) {
	return administer(command, func(admin *kadm.Client) (Answer, error) {
		topics, err := admin.ListTopics(ctx)
		if err != nil {
			return nil, err
		}
		return Answer{"partitions": len(topics[command.Topic].Partitions)}, nil
	})
}

func deleteTopic(ctx context.Context, command Command) (Answer, error) {
	return administer(command, func(admin *kadm.Client) (Answer, error) {
		answers, err := admin.DeleteTopics(ctx, command.Topic)
		if err != nil {
			return nil, err
		}
		return Answer{}, answers.Error()
	})
}

func configs(ctx context.Context, command Command) (Answer, error) {
	return administer(command, func(admin *kadm.Client) (Answer, error) {
		resources, err := admin.DescribeTopicConfigs(ctx, command.Topic)
		if err != nil {
			return nil, err
		}
		topic, err := resources.On(command.Topic, nil)
		if err != nil {
			return nil, err
		}
		values := map[string]string{}
		for _, config := range topic.Configs {
			values[config.Key] = config.MaybeValue()
		}
		return Answer{"configs": values}, topic.Err
	})
}

func groups(ctx context.Context, command Command) (Answer, error) {
	return administer(command, func(admin *kadm.Client) (Answer, error) {
		listed, err := admin.ListGroups(ctx)
		if err != nil {
			return nil, err
		}
		described, err := admin.DescribeGroups(ctx, command.Group)
		if err != nil {
			return nil, err
		}
		return Answer{"listed": listed.Groups(), "state": described[command.Group].State}, described.Error()
	})
}

func deleteRecords(ctx context.Context, command Command) (Answer, error) {
	return administer(command, func(admin *kadm.Client) (Answer, error) {
		before := kadm.Offsets{}
		before.AddOffset(command.Topic, 0, command.Before, -1)
		answers, err := admin.DeleteRecords(ctx, before)
		if err != nil {
			return nil, err
		}
		return Answer{}, answers.Error()
	})
}

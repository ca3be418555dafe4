"""Logs from an Apache Kafka data folder, and for one. The source is never changed.

kafka_records  pure: topics in Kafka's metadata log
kafka_folder   Kafka's data folder: its owner, its topics, and the folders of their partitions
take_over      a data folder of ours with Kafka's topics
hand_over      a folder that Kafka has formatted, filled with our topics
"""

"""Logs from and for Apache Kafka's data folder. Nothing of the source is changed.

kafka_records  pure: what Kafka's metadata log says of topics
kafka_folder   Kafka's data folder: whose it is, its topics, and the folders of their partitions
take_over      a data folder of ours with Kafka's topics
hand_over      a folder that Kafka has formatted, filled with our topics
"""

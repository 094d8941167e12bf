"""Looking at it: annotated code, graphs, pages, timelines. Data comes from the rooms below; nothing below needs a view."""

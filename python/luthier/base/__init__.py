"""What every room needs: text for terminals, files that appear whole, whose frame is whose."""

"""What models and trainings cost, by what they compute: nothing here is measured."""
